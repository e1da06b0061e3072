package e2e

import (
	"bufio"
	"bytes"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	answers "understudy/tools/answer"
)

// wire is a conversation in plain messages, of a server over stdio or of SSE.
type wire struct {
	t      *testing.T
	write  func(message string)
	read   func() string
	nextID int
	cmd    *exec.Cmd // over stdio
	in     io.Closer
	mark   string
}

func newWire(t *testing.T) *wire {
	t.Helper()
	return startWire(t, command(t, "serve"))
}

// startWire starts a server over stdio.
func startWire(t *testing.T, cmd *exec.Cmd) *wire {
	t.Helper()
	w := &wire{t: t, cmd: cmd, mark: markName + "=" + rand.Text()}
	cmd.Env = append(cmd.Env, w.mark, "UNDERSTUDY_LOG_LEVEL=warn")
	if cmd.Stderr == nil {
		cmd.Stderr = os.Stderr
	}
	in, err := cmd.StdinPipe()
	must(t, err)
	out, err := cmd.StdoutPipe()
	must(t, err)
	must(t, cmd.Start())
	t.Cleanup(func() {
		_ = in.Close()
		_ = cmd.Wait()
	})
	lines := bufio.NewReader(out)
	w.in = in
	w.write = func(message string) {
		_, err := fmt.Fprintf(in, "%s\n", message)
		must(t, err)
	}
	w.read = func() string {
		line, err := lines.ReadString('\n')
		insist(t, err == nil, "reading the protocol: %v (had %q)", err, line)
		return line
	}
	return w
}

// overSSE speaks SSE as the protocol has it; mcp-go's client answers no requests.
func overSSE(t *testing.T, s *server) *wire {
	t.Helper()
	response, err := http.Get(s.url + "/sse")
	must(t, err)
	t.Cleanup(func() { _ = response.Body.Close() })
	events := bufio.NewScanner(response.Body)
	w := &wire{t: t}
	w.read = func() string { // the data of the next event
		for events.Scan() {
			if data, ok := strings.CutPrefix(events.Text(), "data: "); ok {
				return data
			}
		}
		t.Fatalf("the stream ended: %v", events.Err())
		return ""
	}
	messages := s.url + w.read()
	w.write = func(message string) {
		response, err := http.Post(messages, "application/json", bytes.NewReader([]byte(message)))
		must(t, err)
		_ = response.Body.Close()
	}
	return w
}

// send sends a message, which may lack the version of JSON-RPC.
func (w *wire) send(message map[string]any) {
	w.t.Helper()
	message["jsonrpc"] = "2.0"
	text, err := json.Marshal(message)
	must(w.t, err)
	w.write(string(text))
}

// request sends a request and returns its response. Every line that comes must
// be a JSON-RPC message.
func (w *wire) request(method string, params any) map[string]any {
	w.t.Helper()
	w.nextID++
	id := w.nextID
	w.send(map[string]any{"id": id, "method": method, "params": params})
	for {
		if message := w.receive(); message["id"] == float64(id) {
			return message
		}
	}
}

func (w *wire) receive() (message map[string]any) {
	w.t.Helper()
	line := w.read()
	err := json.Unmarshal([]byte(line), &message)
	insist(w.t, err == nil && message["jsonrpc"] == "2.0", "this is on the protocol's stream: %.200q", line)
	return message
}

// initialize greets the server as a program of that name.
func (w *wire) initialize(name string, capabilities ...string) {
	w.t.Helper()
	can := map[string]any{}
	for _, each := range capabilities {
		can[each] = map[string]any{}
	}
	w.request("initialize", map[string]any{
		"protocolVersion": "2025-06-18", "capabilities": can, "clientInfo": map[string]any{"name": name, "version": "1"},
	})
	w.send(map[string]any{"method": "notifications/initialized"})
}

// begin has code run, and does not wait for the answer.
func (w *wire) begin(code string) {
	w.t.Helper()
	w.send(map[string]any{"id": "busy", "method": "tools/call", "params": map[string]any{
		"name": "run_python_code", "arguments": map[string]any{"code": code},
	}})
}

func (w *wire) py(code string) string {
	w.t.Helper()
	return w.call("run_python_code", map[string]any{"code": code})
}

// call calls a tool and returns its answer as JSON.
func (w *wire) call(tool string, arguments map[string]any) string {
	w.t.Helper()
	answer := w.request("tools/call", map[string]any{"name": tool, "arguments": arguments})
	text, err := json.Marshal(answer["result"])
	must(w.t, err)
	return string(text)
}

// has checks what an answer says.
func (w *wire) has(answer string, want ...string) {
	w.t.Helper()
	for _, each := range want {
		expect(w.t, strings.Contains(answer, each), "%q is not in %.600s", each, answer)
	}
}

// ends waits for the server's end, which is an orderly one and leaves no process.
func (w *wire) ends() {
	w.t.Helper()
	err := w.cmd.Wait()
	expect(w.t, err == nil, "the server ended with %v", err)
	left := marked(w.mark)
	expect(w.t, len(left) == 0, "processes are left: %v", left)
}

// TestClientThatClosesTheLogToo: what the server would still say of its end meets a
// broken pipe, and the end is an orderly one all the same.
func TestClientThatClosesTheLogToo(t *testing.T) {
	data := t.TempDir()
	read, write, err := os.Pipe()
	must(t, err)
	cmd := command(t, "serve", "--log-level", "debug", "--data-dir", data)
	cmd.Stderr = write
	w := startWire(t, cmd)
	_ = write.Close()
	drained := make(chan struct{})
	go func() { // until it has answered: a full pipe would hold it up
		defer close(drained)
		_, _ = io.Copy(io.Discard, read)
	}()
	w.initialize("wire")
	w.py("1")
	_ = read.Close()
	<-drained
	_ = w.in.Close()
	w.ends()
	left, _ := filepath.Glob(filepath.Join(data, "run", "*"))
	expect(t, len(left) == 0, "files are left: %v", left)
}

func TestStdoutIsTheProtocolsAlone(t *testing.T) {
	w := newWire(t)
	w.initialize("wire")
	for _, code := range []string{
		"print('on stdout')",
		"import os; os.write(1, b'raw\\n'); os.system('echo from a shell')",
		"import ctypes; libc = ctypes.CDLL(None); libc.puts(b'from C'); libc.fflush(None)",
		"import subprocess, sys; p = subprocess.Popen([sys.executable, '-c', 'import time; [print(i, flush=True) or time.sleep(.01) for i in range(100)]']); 1",
		"import os; os.close(1); os.close(2); os.dup2(os.open('/dev/null', os.O_RDWR), 1)",
	} {
		text := w.py(code)
		expect(t, !strings.Contains(text, `"isError":true`), "%s: %s", code, text)
	}
	// The child goes before: its lines may come between two words of one print.
	w.has(w.py("p.wait(); print('still', 'here')"), "still here")
}

func TestTerminatedServerLeavesNoProcess(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("Windows has no SIGTERM")
	}
	for _, signal := range []os.Signal{syscall.SIGTERM, os.Interrupt} {
		t.Run(signal.String(), func(t *testing.T) {
			w := newWire(t)
			w.initialize("wire")
			w.py("import subprocess; p = subprocess.Popen(['sleep', '1000'])")
			left := marked(w.mark)
			insist(t, runtime.GOOS != "linux" || len(left) >= 3, "server, worker and child should be found, not only %v", left)
			w.begin("while True: pass")
			must(t, w.cmd.Process.Signal(signal))
			w.ends()
		})
	}
}

func TestClientThatLeavesEndsTheServer(t *testing.T) {
	w := newWire(t)
	w.initialize("wire")
	w.begin("import signal; signal.signal(signal.SIGINT, signal.SIG_IGN)\nwhile True: pass")
	began := time.Now()
	_ = w.in.Close()
	w.ends()
	t.Logf("ended after %s", time.Since(began))
}

// The files of a run that was killed go with the next server, but nothing of the user's.
func TestKilledServersFilesGo(t *testing.T) {
	data := t.TempDir()
	w := startWire(t, command(t, "serve", "--data-dir", data))
	w.initialize("wire")
	w.py("open('kept', 'w').write('1')")
	must(t, w.cmd.Process.Kill())
	_ = w.cmd.Wait()
	left, err := filepath.Glob(filepath.Join(data, "run", "*"))
	insist(t, err == nil && len(left) == 1, "the killed server left %v", left)
	next := startWire(t, command(t, "serve", "--data-dir", data))
	next.initialize("wire")
	next.has(next.py("1 + 1"), "2")
	if _, err := os.Stat(left[0]); !os.IsNotExist(err) {
		t.Errorf("%s is still there: %v", left[0], err)
	}
	if _, err := os.Stat(filepath.Join(w.cmd.Dir, "kept")); err != nil {
		t.Errorf("what the code wrote: %v", err)
	}
}

// A disk that is full costs what can't be written, says so, and nothing else. The server's
// files, and its code's, are on one of their own, in namespaces of its own.
func TestFullDisk(t *testing.T) {
	disk := t.TempDir()
	if err := exec.Command("unshare", "-rm", "mount", "-t", "tmpfs", "tmpfs", disk).Run(); err != nil {
		t.Skipf("no disk can be mounted here: %v", err)
	}
	const mount = `mount -t tmpfs -o size=3m tmpfs "$1" && mkdir "$1/project" && cd "$1/project" && shift && exec "$@"`
	cmd := command(t, "serve", "--data-dir", disk)
	cmd.Args = append([]string{"unshare", "-rm", "sh", "-c", mount, "sh", disk, cmd.Path}, cmd.Args[1:]...)
	cmd.Path, cmd.Err = exec.LookPath("unshare")
	w := startWire(t, cmd)
	w.initialize("wire")
	for _, step := range []struct{ code, want string }{
		{"x = [1]\nhole = open('hole', 'wb', buffering=0)\ntry:\n    while hole.write(b'0' * 4096): pass\nexcept OSError as e: print(e)", "No space left on device"},
		{"print('y' * 3_000_000)", "no space left on device"},
		{"import importlib.util as u\nif u.find_spec('matplotlib'):\n    import matplotlib.pyplot as plt; plt.plot([1, 2]); plt.show()\nelse: print('No space left on device')", "No space left on device"},
		{"x = None; import os; os.abort()", "as they were before this call"},
		{"x", "[1]"},
	} {
		w.has(w.py(step.code), step.want)
	}
	w.has(w.call("manage_interpreters", map[string]any{"operation": "branch"}), "Branched") // it shares the files where they are
}

// TestFloodsFitALine: clients hang up at a longer line, so none comes whatever
// is printed, and whatever the operator asked for.
func TestFloodsFitALine(t *testing.T) {
	w := startWire(t, command(t, "serve", "--text-budget", "1000000000", "--image-budget", "1TB",
		"--output-limit", "100MB", "--figures", "inline", "--structured-content", "always", "--wait", "9m"))
	w.initialize("wire")
	// The whole line counts where a client hangs up.
	size := len(w.py(`print("\x01" * 1_800_000)`))
	expect(t, size <= answers.MessageLimit-1000 && size >= 1_000_000, "an answer of %d bytes", size)
	w.has(w.py("print('still', 'here')"), "still here")
}

// TestClientsGetWhatSuitsThem: the name that a client gives itself decides.
func TestClientsGetWhatSuitsThem(t *testing.T) {
	for client, most := range map[string]int{"Visual Studio Code": 8_000, "somebody": 8_000} {
		w := newWire(t)
		w.initialize(client)
		var result struct {
			Content           []struct{ Text string } // links may follow the text
			StructuredContent any
		}
		must(t, json.Unmarshal([]byte(w.py("print('words of a sentence ' * 5_000)")), &result))
		text := result.Content[0].Text
		if len(text) > most || len(text) < most*8/10 || !strings.Contains(text, "[whole output] ") {
			t.Errorf("%s: %d characters, ending %q", client, len(text), text[max(0, len(text)-300):])
		}
		got := result.StructuredContent != nil
		expect(t, got == (client == "somebody"), "%s: structuredContent present: %v", client, got)
	}
}
