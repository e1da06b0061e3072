package worker

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"
)

func startHelper(t *testing.T, s *Spawner) *Helper {
	t.Helper()
	h, err := s.Helper("helper.py")
	must(t, err)
	t.Cleanup(h.Kill)
	return h
}

// say tells the helper a line and decodes its answer.
func say(t *testing.T, h *Helper, line string, answer any) {
	t.Helper()
	if _, err := io.WriteString(h, line+"\n"); err != nil {
		t.Fatal(err)
	}
	text, err := bufio.NewReader(h).ReadString('\n')
	must(t, err)
	must(t, json.Unmarshal([]byte(text), answer))
}

// TestHelperIsApart: neither the server's environment nor its group, and no module
// of anybody's but Python's.
func TestHelperIsApart(t *testing.T) {
	t.Setenv("SECRET_OF_THE_SERVER", "x")
	t.Setenv("PYTHONPATH", t.TempDir())
	h := startHelper(t, fakeSpawner(t))
	var told struct {
		Environ  map[string]string
		Path     []string
		Isolated int
		Group    bool
	}
	say(t, h, "tell", &told)
	for name := range told.Environ {
		if !slices.Contains(neededVariables, name) && name != "LC_CTYPE" { // Python itself sets that
			t.Errorf("%s is in its environment", name)
		}
	}
	expect(t, !slices.Contains(told.Path, "") && !slices.Contains(told.Path, os.Getenv("PYTHONPATH")) && told.Isolated == 1 && told.Group, "%+v", told)
	fine(t, h.Close())
	<-h.Ended()
	words := h.LastWords()
	expect(t, len(words) <= mostLastWords && strings.HasSuffix(words, "é\nlast words") && utf8.ValidString(words), "%q", words)
}

// TestHelperReadsNoFiles: code in a session can change those of the library.
func TestHelperReadsNoFiles(t *testing.T) {
	s := fakeSpawner(t)
	start(t, s)
	files, err := filepath.Glob(filepath.Join(s.options.LibraryDir, "*", "pyworker", "*.py"))
	insist(t, err == nil && len(files) != 0, "%v %v", files, err)
	for _, file := range files {
		must(t, os.WriteFile(file, []byte("raise SystemExit('changed')"), 0o600))
	}
	var answer any
	say(t, startHelper(t, s), "fill 1000", &answer)
	expect(t, answer == 1000., "%v", answer)
}

func TestHelperHasSoMuchMemory(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("one process can limit another on Linux only")
	}
	h := startHelper(t, fakeSpawner(t))
	var answer any
	say(t, h, fmt.Sprint("fill ", HelperMemory), &answer)
	expect(t, answer == "MemoryError", "it could fill %v", answer)
	say(t, h, "fill 1000", &answer)
	expect(t, answer == 1000., "it could fill %v", answer)
}

// TestHelperThatHangs: its owner's Close ends it, and so does the Spawner's.
func TestHelperThatHangs(t *testing.T) {
	s := fakeSpawner(t)
	for _, end := range []func(*Helper) error{(*Helper).Close, func(h *Helper) error { h.Kill(); return nil }} {
		h := startHelper(t, s)
		if _, err := io.WriteString(h, "hang\n"); err != nil {
			t.Fatal(err)
		}
		fine(t, end(h))
		<-h.Ended()
		h.Kill() // once more does nothing
	}
	must(t, s.Close(t.Context()))
	if _, err := s.Helper("helper.py"); err == nil {
		t.Error("a closed Spawner started a helper")
	}
}
