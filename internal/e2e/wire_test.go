package e2e

import (
	"bufio"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"
)

// wire is a server that is spoken to in plain lines.
type wire struct {
	t      *testing.T
	cmd    *exec.Cmd
	in     io.WriteCloser
	out    *bufio.Reader
	mark   string
	nextID int
}

func newWire(t *testing.T) *wire {
	t.Helper()
	return startWire(t, t.TempDir(), nil)
}

// startWire starts a server that keeps its files in data; change may change its
// command.
func startWire(t *testing.T, data string, change func(*exec.Cmd)) *wire {
	t.Helper()
	program, err := exec.LookPath("understudy")
	if err != nil {
		t.Fatal(err)
	}
	w := &wire{t: t, mark: markName + "=" + rand.Text()}
	w.cmd = exec.Command(program, "serve", "--log-level", "warn")
	w.cmd.Dir = t.TempDir() // where its code works
	w.cmd.Env = append(os.Environ(), w.mark, "UNDERSTUDY_DATA_DIR="+data)
	if python := os.Getenv("UNDERSTUDY_TEST_PYTHON"); python != "" {
		w.cmd.Env = append(w.cmd.Env, "UNDERSTUDY_PYTHON="+python)
	}
	w.cmd.Stderr = os.Stderr
	if change != nil {
		change(w.cmd)
	}
	if w.in, err = w.cmd.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	out, err := w.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	w.out = bufio.NewReader(out)
	if err := w.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = w.in.Close()
		_ = w.cmd.Wait()
	})
	return w
}

func (w *wire) send(message string) {
	w.t.Helper()
	if _, err := fmt.Fprintf(w.in, "%s\n", message); err != nil {
		w.t.Fatal(err)
	}
}

// request sends a request and returns its response. Every line that comes must
// be a JSON-RPC message.
func (w *wire) request(method string, params any) map[string]any {
	w.t.Helper()
	w.nextID++
	text, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": w.nextID, "method": method, "params": params})
	if err != nil {
		w.t.Fatal(err)
	}
	w.send(string(text))
	for {
		message := w.receive()
		if message["id"] == float64(w.nextID) {
			return message
		}
	}
}

func (w *wire) receive() map[string]any {
	w.t.Helper()
	line, err := w.out.ReadString('\n')
	if err != nil {
		w.t.Fatalf("reading the protocol: %v (had %q)", err, line)
	}
	var message map[string]any
	if err := json.Unmarshal([]byte(line), &message); err != nil || message["jsonrpc"] != "2.0" {
		w.t.Fatalf("this is on the protocol's stream: %.200q", line)
	}
	return message
}

func (w *wire) initialize() {
	w.t.Helper()
	w.initializeAs("wire")
}

func (w *wire) initializeAs(client string) {
	w.t.Helper()
	w.request("initialize", map[string]any{
		"protocolVersion": "2025-06-18", "capabilities": map[string]any{},
		"clientInfo": map[string]any{"name": client, "version": "1"},
	})
	w.send(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)
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
	if err != nil {
		w.t.Fatal(err)
	}
	return string(text)
}

// gone checks that no process of the server's is left.
func (w *wire) gone() {
	w.t.Helper()
	if left := marked(w.mark); len(left) > 0 {
		w.t.Errorf("processes are left: %v", left)
	}
}

// TestClientThatClosesTheLogToo: what the server would still say of its end meets a
// broken pipe, and the end is an orderly one all the same.
func TestClientThatClosesTheLogToo(t *testing.T) {
	data := t.TempDir()
	read, write, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	w := startWire(t, data, func(c *exec.Cmd) {
		c.Args = []string{c.Args[0], "serve", "--log-level", "debug"}
		c.Stderr = write
	})
	_ = write.Close()
	drained := make(chan struct{})
	go func() { // until it has answered: a full pipe would hold it up
		defer close(drained)
		_, _ = io.Copy(io.Discard, read)
	}()
	w.initialize()
	w.call("run_python_code", map[string]any{"code": "1"})
	_ = read.Close()
	<-drained
	_ = w.in.Close()
	if err := w.cmd.Wait(); err != nil {
		t.Errorf("the server ended with %v", err)
	}
	w.gone()
	if left, _ := filepath.Glob(filepath.Join(data, "run", "*")); len(left) > 0 {
		t.Errorf("files are left: %v", left)
	}
}

func TestStdoutIsTheProtocolsAlone(t *testing.T) {
	w := newWire(t)
	w.initialize()
	for _, code := range []string{
		"print('on stdout')",
		"import os; os.write(1, b'raw\\n'); os.system('echo from a shell')",
		"import ctypes; libc = ctypes.CDLL(None); libc.puts(b'from C'); libc.fflush(None)",
		"import subprocess, sys; p = subprocess.Popen([sys.executable, '-c', 'import time; [print(i, flush=True) or time.sleep(.01) for i in range(100)]']); 1",
		"import os; os.close(1); os.close(2); os.dup2(os.open('/dev/null', os.O_RDWR), 1)",
	} {
		if text := w.py(code); strings.Contains(text, `"isError":true`) {
			t.Errorf("%s: %s", code, text)
		}
	}
	// The child goes before: its lines may come between two words of one print.
	if text := w.py("p.wait(); print('still', 'here')"); !strings.Contains(text, "still here") {
		t.Errorf("%s", text)
	}
}

func TestNonsenseOnTheWireEndsNothing(t *testing.T) {
	w := newWire(t)
	w.initialize()
	w.send(`this is no JSON`)
	if m := w.receive(); m["error"] == nil {
		t.Errorf("%v", m)
	}
	w.send(`{"jsonrpc":"2.0","id":99,"method":"tools/call","params":{"name":"no_such_tool"}}`)
	if m := w.receive(); m["error"] == nil {
		t.Errorf("%v", m)
	}
	if text := w.py("6 * 7"); !strings.Contains(text, "42") {
		t.Errorf("%s", text)
	}
}

func TestTerminatedServerLeavesNoProcess(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("Windows has no SIGTERM")
	}
	for _, signal := range []os.Signal{syscall.SIGTERM, os.Interrupt} {
		t.Run(signal.String(), func(t *testing.T) {
			w := newWire(t)
			w.initialize()
			w.py("import subprocess; p = subprocess.Popen(['sleep', '1000'])")
			if left := marked(w.mark); runtime.GOOS == "linux" && len(left) < 3 {
				t.Fatalf("server, worker and child should be found, not only %v", left)
			}
			w.send(`{"jsonrpc":"2.0","id":"busy","method":"tools/call","params":{"name":"run_python_code","arguments":{"code":"while True: pass"}}}`)
			if err := w.cmd.Process.Signal(signal); err != nil {
				t.Fatal(err)
			}
			if err := w.cmd.Wait(); err != nil {
				t.Errorf("the server ended with %v", err)
			}
			w.gone()
		})
	}
}

func TestClientThatLeavesEndsTheServer(t *testing.T) {
	w := newWire(t)
	w.initialize()
	w.send(`{"jsonrpc":"2.0","id":"busy","method":"tools/call","params":{"name":"run_python_code","arguments":{"code":"import signal; signal.signal(signal.SIGINT, signal.SIG_IGN)\nwhile True: pass"}}}`)
	began := time.Now()
	_ = w.in.Close()
	if err := w.cmd.Wait(); err != nil {
		t.Errorf("the server ended with %v", err)
	}
	w.gone()
	t.Logf("ended after %s", time.Since(began))
}
