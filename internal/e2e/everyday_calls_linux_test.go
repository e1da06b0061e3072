package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// everydayCalls are what a client does with a server every day.
var everydayCalls = []struct {
	name string
	make func(t *testing.T, h *household)
	// copies says that it needs copies of an interpreter.
	copies bool
}{
	{"figures come as images and as files", seeFigures, false},
	{"artifacts are kept, shown and read back", keepArtifacts, false},
	{"files are uploaded and read back", uploadFiles, false},
	{"an output that is long is read to its end", readLongOutput, false},
	{"a crash, and the understudy steps in", crash, true},
	{"a branch goes on by itself", branch, true},
	{"undo and restart", undo, true},
	{"an interrupt, and a time limit", interrupt, false},
	{"shell lines", useShellLines, false},
	{"what a call starts is there in the next", leaveThingsRunning, false},
	{"an interpreter that ends takes its files along", endInterpreter, false},
}

func (h *household) makeCalls(t *testing.T) {
	for _, c := range everydayCalls {
		if c.copies && slices.Contains(h.flags, "spawn") {
			continue // each interpreter is a process of its own
		}
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			c.make(t, h)
		})
	}
}

// expect runs code that prints just that text and a new line.
func (h *household) expect(t *testing.T, id, code, printed string) {
	t.Helper()
	if record, text := h.run(t, id, code); record["stdout"] != printed+"\n" || record["status"] != "ok" {
		t.Errorf("%s\nprinted %q, not %q:\n%s", code, record["stdout"], printed, text)
	}
}

// ends runs code that ends in another way than well, and returns the record.
func (h *household) ends(t *testing.T, id, code, status string, more ...any) map[string]any {
	t.Helper()
	record, text := h.run(t, id, code, more...)
	if record["status"] != status {
		t.Errorf("%s\nis %v, not %s:\n%s", code, record["status"], status, text)
	}
	return record
}

// read returns a resource, whether text or bytes.
func (h *household) read(t *testing.T, uri string) string {
	t.Helper()
	text, err := readResource(h.client, uri)
	expect(t, err == nil, "reading %s: %v", uri, err)
	return text
}

func (h *household) skipWithout(t *testing.T, module string) {
	t.Helper()
	if h.missing[module] {
		t.Skipf("NOT TRIED: %s is not there", module)
	}
}

func seeFigures(t *testing.T, h *household) {
	h.skipWithout(t, "matplotlib")
	id := h.create(t)
	record, text := h.run(t, id, "import matplotlib.pyplot as plt\nfor n in 1, 2:\n    plt.plot([1, n]); plt.title(f'figure {n}'); plt.show()")
	figures, _ := record["figures"].([]any)
	insist(t, len(figures) == 2, "%d figures:\n%s", len(figures), text)
	path := fmt.Sprint(figures[0].(map[string]any)["path"])
	image, err := os.ReadFile(path)
	expect(t, err == nil && strings.HasPrefix(string(image), "\x89PNG"), "%s: %v", path, err)
	h.expect(t, id, fmt.Sprintf("print(len(open(%q, 'rb').read()) > 1000)", path), "True")
}

func keepArtifacts(t *testing.T, h *household) {
	id := h.create(t)
	record, text := h.run(t, id, "kept = artifact('one\\ntwo\\n', 'note')\nartifact(bytes(range(256)), 'raw', kind='file')")
	kept, _ := record["artifacts"].([]any)
	expect(t, len(kept) == 2, "%s", text)
	at := "understudy://interpreters/" + id + "/artifacts/"
	got := h.read(t, at+"note.txt")
	expect(t, got == "one\ntwo\n", "note.txt is %q", got)
	if got := h.read(t, at+"raw.bin"); len(got) != 256 {
		t.Errorf("raw.bin has %d bytes", len(got))
	}
	h.expect(t, id, "print(open(kept.path).read().split())", "['one', 'two']")
}

func uploadFiles(t *testing.T, h *household) {
	id := h.create(t)
	h.manage(t, id, "upload", "path", "data/in.csv", "content", "a,b\n1,2\n") // before anything ran
	h.expect(t, id, "print(open('data/in.csv').read().split())", "['a,b', '1,2']")
	h.manage(t, id, "upload", "path", "data/in.csv", "content", "replaced")
	h.manage(t, id, "upload", "path", "data/bytes.bin", "content_base64", "AP8K")
	h.expect(t, id, "import os\nprint(open('data/in.csv').read(), open('data/bytes.bin', 'rb').read(), sorted(os.listdir('data')))",
		`replaced b'\x00\xff\n' ['bytes.bin', 'in.csv']`)
	h.expect(t, id, "open('data/in.csv', 'a').write(' and more'); os.remove('data/bytes.bin'); open('data/out', 'w').write('out'); print()", "9\n3\n")
	at := "understudy://interpreters/" + id + "/files/data/"
	got := h.read(t, at+"in.csv") + ", " + h.read(t, at+"out")
	expect(t, got == "replaced and more, out", "the files are %q", got)
}

func readLongOutput(t *testing.T, h *household) {
	id := h.create(t)
	record, text := h.run(t, id, "for n in range(100_000): print('line', n)")
	uri, _ := record["output_uri"].(string)
	insist(t, uri != "", "it is nowhere to be read:\n%.2000s", text)
	got := h.read(t, uri+"?from=99999")
	expect(t, strings.HasPrefix(got, "line 99998\nline 99999\n"), "the end of %s is %.200q", uri, got)
}

func crash(t *testing.T, h *household) {
	id := h.create(t)
	h.expect(t, id, "x = 'before'; open('kept', 'w').write(x); print(x)", "6\nbefore")
	for _, how := range []string{"import os; os.abort()", "import ctypes; ctypes.string_at(0)", "import os, signal; os.kill(os.getpid(), signal.SIGKILL)"} {
		record := h.ends(t, id, "x = 'after'; print('last words', flush=True)\n"+how, "crashed")
		expect(t, record["state_restored"] == true && record["stdout"] == "last words\n", "%s: %v", how, record)
		h.expect(t, id, "print(x, open('kept').read())", "before before")
		h.expect(t, id, tryFiles, "True")
	}
}

// tryFiles is what an interpreter must still be able to do, whatever has become of it.
const tryFiles = "import subprocess, tempfile\nwith tempfile.NamedTemporaryFile() as f, open('here', 'w') as g: print(subprocess.run(['true']).returncode == 0)"

func branch(t *testing.T, h *household) {
	id := create(t, h.client)
	h.expect(t, id, "x = [1]; out = open('file', 'w'); out.write('original'); out.close(); print(x)", "8\n[1]")
	record, _ := h.manage(t, id, "branch")
	other := fmt.Sprint(record["interpreter_id"])
	h.expect(t, other, "x.append(2); print(x, open('file').read())", "[1, 2] original")
	h.expect(t, other, "open('file', 'w').write('changed'); print()", "7\n")
	h.expect(t, other, tryFiles, "True")
	h.expect(t, id, "x.append(3); print(x, open('file').read())", "[1, 3] original")
	h.ends(t, other, "import os; os.abort()", "crashed")
	h.expect(t, other, "print(x, open('file').read())", "[1, 2] changed")
	h.manage(t, id, "delete") // the branch lives on
	h.expect(t, other, tryFiles, "True")
	second, _ := h.manage(t, other, "branch")
	h.expect(t, fmt.Sprint(second["interpreter_id"]), tryFiles, "True")
	h.manage(t, fmt.Sprint(second["interpreter_id"]), "delete")
	h.manage(t, other, "restart")
	h.expect(t, other, tryFiles, "True")
	h.manage(t, other, "delete")
}

func undo(t *testing.T, h *household) {
	id := h.create(t)
	h.expect(t, id, "x = 1; open('file', 'w').close(); print(x)", "1")
	h.expect(t, id, "x = 2; print(x)", "2")
	h.manage(t, id, "undo")
	h.expect(t, id, "print(x)", "1")
	h.expect(t, id, tryFiles, "True")
	h.manage(t, id, "restart")
	h.expect(t, id, "import os; print('x' in globals(), os.path.exists('file'))", "False True")
	h.expect(t, id, tryFiles, "True")
}

func interrupt(t *testing.T, h *household) {
	id := h.create(t)
	h.expect(t, id, "import subprocess, time; x = 5; print(x)", "5") // what has begun at the limit is nobody's to say
	for _, busy := range []string{"time.sleep(100)", "while True: pass", "subprocess.run(['sleep', '100'])"} {
		if record := h.ends(t, id, busy, "timeout", "timeout", 0.3); record["interpreter_restarted"] == true {
			t.Errorf("%s is killed: %v", busy, record)
		}
		h.expect(t, id, "print(x)", "5")
	}
	h.ends(t, id, "import time; x = 7\nopen('begun', 'w').close()\ntime.sleep(100)", "running", "wait", 0.01)
	h.expectBegun(t, id)
	h.manage(t, id, "interrupt")
	record, text := h.manage(t, id, "wait")
	expect(t, record["status"] == "interrupted", "%s", text)
	h.expect(t, id, "print(x)", "7")
}

// expectBegun returns when the running code has made its file.
func (h *household) expectBegun(t *testing.T, id string) {
	t.Helper()
	for _, each := range interpreters(t, h.client) {
		if each["id"] == id {
			eventually(t, func() error {
				_, err := os.Stat(filepath.Join(fmt.Sprint(each["workdir"]), "begun"))
				return err
			})
		}
	}
}

func useShellLines(t *testing.T, h *household) {
	id := h.create(t)
	h.expect(t, id, "!echo one | tr a-z A-Z > made; cat made", "ONE")
	h.expect(t, id, "files = !ls\nprint(files)", "['made']")
	record, text := h.run(t, id, "%pip list --disable-pip-version-check")
	expect(t, record["status"] == "ok" && strings.Contains(text, "pip "), "%s", text)
}

func leaveThingsRunning(t *testing.T, h *household) {
	h.skipWithout(t, "sockets:internet")
	id := h.create(t)
	code := `import http.server, os, subprocess, sys, tempfile, threading, urllib.request
held = tempfile.TemporaryDirectory()
server = http.server.HTTPServer(("127.0.0.1", 0), http.server.SimpleHTTPRequestHandler)
child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
thread = threading.Thread(target=server.serve_forever, daemon=True); thread.start()
open("page", "w").write("a page")
print()`
	h.expect(t, id, code, "6\n")
	h.expect(t, id, "print(urllib.request.build_opener(urllib.request.ProxyHandler({})).open(f'http://127.0.0.1:{server.server_port}/page').read(), child.poll(), os.path.isdir(held.name))",
		"b'a page' None True")
	h.expect(t, id, "server.shutdown(); server.server_close(); child.kill(); print(child.wait())", "-9")
}

func endInterpreter(t *testing.T, h *household) {
	id := create(t, h.client)
	made, _ := h.run(t, id, `import os, subprocess, sys
os.makedirs("a/b"); os.symlink("/etc", "a/link"); open("a/c", "w").close()
child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"], start_new_session=True)
print(os.getcwd())`)
	h.manage(t, id, "delete")
	place := strings.TrimSpace(fmt.Sprint(made["stdout"]))
	_, err := os.Stat(place)
	expect(t, os.IsNotExist(err), "%s is left: %v", place, err)
}
