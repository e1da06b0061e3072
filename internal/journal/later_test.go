package journal

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"understudy/sessions"
	"understudy/sessions/output"
)

// spoolOf makes an execution that printed a long text, which is in a file.
func spoolOf(t *testing.T, a *agent, text string) sessions.Entry {
	t.Helper()
	file := filepath.Join(t.TempDir(), "stdout")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	e := a.next("print(secret)", nil)
	e.Printed[sessions.Stdout] = sessions.Printed{Text: []byte{}, Path: file, Size: int64(len(text))}
	return a.done(e, sessions.Result{Stdout: text[:10] + output.Marker(int64(len(text)-20)) + text[len(text)-10:], StdoutTruncated: int64(len(text) - 20)})
}

func only(t *testing.T, file string) *Detail {
	t.Helper()
	all, err := open(t, file).Executions(t.Context(), Query{Detail: true})
	if err != nil || len(all) != 1 || all[0].Detail == nil {
		t.Fatalf("%+v, %v", all, err)
	}
	return all[0].Detail
}

// A long output is searched for secrets after the answer, though its own file goes.
func TestLongOutputIsKeptLater(t *testing.T) {
	const secret = "sk-0123456789abcdef"
	for what, text := range map[string]string{
		"a secret": strings.Repeat("line\n", longestWait/2) + secret + "\n",
		"none":     strings.Repeat("line\n", longestWait/2),
	} {
		file := newPath(t)
		j := begin(t, file, Options{})
		j.closing = time.Hour // however long it takes
		a := newAgent(t, j, "a", "c")
		a.secrets = []string{secret}
		e := spoolOf(t, a, text)
		j.mu.Lock() // settling waits
		stopped := make(chan struct{})
		go func() {
			defer close(stopped)
			if _, err := j.Record(context.Background(), e); err != nil {
				t.Error(err)
			}
			if err := os.Remove(e.Printed[0].Path); err != nil {
				t.Error(err)
			}
		}()
		j.mu.Unlock()
		<-stopped
		end(t, j)
		d := only(t, file)
		got, err := os.ReadFile(d.Stdout.Path)
		if want := strings.ReplaceAll(text, secret, masked); err != nil || d.Stdout.Pending || string(got) != want {
			t.Errorf("%s: %d bytes of %d, pending %v, %v", what, len(got), len(want), d.Stdout.Pending, err)
		}
		if parts, _ := filepath.Glob(filepath.Join(filesOf(file), "*", "*.part")); len(parts) > 0 {
			t.Errorf("%s: left %v", what, parts)
		}
	}
}

// Until then the row says so, and no file has it; of a server that is gone it is lost.
func TestOutputThatIsBeingKept(t *testing.T) {
	const secret = "sk-0123456789abcdef"
	file := newPath(t)
	j := begin(t, file, Options{})
	a := newAgent(t, j, "a", "c")
	a.secrets = []string{secret}
	text := strings.Repeat("line\n", longestWait/2) + secret
	e := spoolOf(t, a, text)
	j.end()
	j.working.Wait() // so that the test keeps it
	if _, err := j.Record(t.Context(), e); err != nil {
		t.Fatal(err)
	}
	if o := only(t, file).Stdout; !o.Pending || o.Path != "" || o.Lost != 0 {
		t.Errorf("while it is kept: %v %q %d", o.Pending, o.Path, o.Lost)
	}
	if left, _ := filepath.Glob(filepath.Join(filesOf(file), "*", "a-1-*")); len(left) > 0 {
		t.Errorf("there already: %v", left)
	}
	ended, stop := context.WithCancel(t.Context())
	stop()
	j.keepLater(ended, <-j.queue)
	if o := only(t, file).Stdout; o.Pending || o.Path != "" || o.Lost < int64(len(text))-200 {
		t.Errorf("after it was ended: %v %q %d", o.Pending, o.Path, o.Lost)
	}
}
