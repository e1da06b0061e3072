package e2e

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/mark3labs/mcp-go/client"
	"github.com/mark3labs/mcp-go/client/transport"
)

// TestManyClientsNeverMix: clients of every kind at once, each with variables of
// its own in a real Python, and in its list nothing but its own.
func TestManyClientsNeverMix(t *testing.T) {
	t.Parallel()
	const each = 8
	s := startServer(t, "--history", "0")
	var all sync.WaitGroup
	for _, w := range ways[:3] {
		for i := range each {
			c := w.connect(t, s)
			all.Go(func() {
				err := converse(w, c, fmt.Sprint(w.name, " ", i))
				expect(t, err == nil, "%s, client %d: %v", w.name, i, err)
			})
		}
	}
	all.Wait()
}

// converse is what one client does and checks.
func converse(w way, c *client.Client, name string) error {
	id, want := "", ""
	for round := range 4 {
		said := fmt.Sprint(name, round, ";")
		pairs := []any{"code", fmt.Sprintf("seen = globals().get('seen', '') + %q\nprint(seen, len(seen))", said)}
		if id != "" && w.isAnonymous() {
			pairs = append(pairs, "interpreter_id", id)
		}
		ran, err := call(c, "run_python_code", pairs...)
		if err != nil {
			return err
		}
		want += said
		if ran.record["stdout"] != fmt.Sprintf("%s %d\n", want, len(want)) {
			return fmt.Errorf("it sees %q", ran.record["stdout"])
		}
		if told := strings.Contains(ran.text, "Pass interpreter_id"); told != (id == "") {
			return fmt.Errorf("it is told: %s", ran.text)
		}
		id = ran.record["interpreter_id"].(string)
		listed, err := call(c, "manage_interpreters", "operation", "list")
		if err != nil {
			return err
		}
		own := listed.record["interpreters"].([]any)
		switch {
		case w.isAnonymous() && len(own) == 0 && strings.Contains(listed.text, "pass the interpreter_id"):
		case !w.isAnonymous() && len(own) == 1 && own[0].(map[string]any)["id"] == id:
		default:
			return fmt.Errorf("it lists %s", listed.text)
		}
	}
	return nil
}

// TestComingBack: code outlives the connection of the client that ran it, and
// who shows the interpreter's id can wait for it and go on, after a goodbye, too: some
// clients say it after each call.
func TestComingBack(t *testing.T) {
	t.Parallel()
	s := startServer(t)
	sse, legacy, modern := ways[2], ways[1], ways[0]
	first := sse.connect(t, s)
	run(t, first, "import os, time") // a call that waits so short does not make an interpreter
	record, _ := run(t, first, "while not os.path.exists('go'): time.sleep(0.01)\nx = 42", "wait", 0.01)
	id := record["interpreter_id"].(string)
	second := modern.connect(t, s)
	if _, text := manage(t, second, "list"); strings.Contains(text, id) {
		t.Fatalf("another client lists it: %s", text)
	}
	_ = first.Close()
	var workdir string
	eventually(t, func() error { // the server hears of it, and the next who shows the id has it
		manage(t, second, "wait", "interpreter_id", id, "wait", 0.01)
		list, text := manage(t, second, "list", "interpreter_id", id)
		own := list["interpreters"].([]any)
		if len(own) == 0 {
			return fmt.Errorf("it lists %s", text)
		}
		workdir = own[0].(map[string]any)["workdir"].(string)
		return nil
	})
	writeFile(t, filepath.Join(workdir, "go"), "")
	record, text := manage(t, second, "wait", "interpreter_id", id)
	expect(t, record["status"] == "ok" && record["execution"] == 2.0, "%s", text)
	third := legacy.connect(t, s)
	for _, c := range []*client.Client{third, second} {
		if record, _ = run(t, c, "print(x)", "interpreter_id", id); record["stdout"] != "42\n" {
			t.Errorf("%v", record)
		}
		_ = third.Close() // says goodbye
	}
}

// cable is what a client's connections go by.
type cable struct {
	mu   sync.Mutex
	open []net.Conn
}

func (c *cable) dial(ctx context.Context, network, address string) (net.Conn, error) {
	connection, err := new(net.Dialer).DialContext(ctx, network, address)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.open = append(c.open, connection)
	return connection, err
}

// cut breaks what is open; the next request has a new connection.
func (c *cable) cut() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, connection := range c.open {
		_ = connection.Close()
	}
	c.open = nil
}

// TestALostConnectionOfHTTP: the code of a call whose connection broke runs on,
// or is interrupted, as --on-disconnect says; the client waits for it in its
// session. It may have one call at a time, and so learns that the server has
// heard of the loss.
func TestALostConnectionOfHTTP(t *testing.T) {
	t.Parallel()
	for choice, want := range map[string]string{"keep": "to the end", "interrupt": "--on-disconnect interrupt"} {
		t.Run(choice, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			must(t, os.Chmod(dir, 0o777)) // under root code has a user of its own
			s := startServer(t, "--on-disconnect", choice, "--workdir", dir, "--max-calls-per-client", "1")
			var line cable
			link, err := transport.NewStreamableHTTP(s.url+"/mcp",
				transport.WithHTTPBasicClient(&http.Client{Transport: &http.Transport{DialContext: line.dial}}))
			must(t, err)
			c := dial(t, link, client.WithLegacyProtocolOnly())
			over := make(chan error)
			go func() {
				_, err := call(c, "run_python_code", "code",
					"import os, time\nopen('begun', 'w').close()\nwhile not os.path.exists('go'): time.sleep(0.01)\nprint('to the', 'end')")
				over <- err
			}()
			eventually(t, func() error {
				_, err := os.Stat(filepath.Join(dir, "begun"))
				return err
			})
			line.cut()
			if err := <-over; err == nil {
				t.Error("the call was answered over a connection that broke")
			}
			waits := func(want string, more ...any) {
				t.Helper()
				comesTrue(t, want, func() bool {
					a, _ := call(c, "manage_interpreters", append([]any{"operation", "wait"}, more...)...)
					return strings.Contains(fmt.Sprint(a.text, a.record), want)
				})
			}
			if choice == "keep" {
				waits("status:running", "wait", 0.01)
				writeFile(t, filepath.Join(dir, "go"), "")
			}
			waits(want)
		})
	}
}

// TestAnMCPSessionForEachCall, as some clients open one and never end it: none meets the
// limit, who came before is left alone, and a name that an earlier session has is found.
func TestAnMCPSessionForEachCall(t *testing.T) {
	t.Parallel()
	if runtime.GOOS != "linux" {
		t.Skip("processes are found on Linux only")
	}
	s := startServer(t, "--max-sessions", "4")
	first := ways[1].connect(t, s)
	run(t, first, "x = 41")
	run(t, first, "x += 1")
	for range 11 {
		_, text := run(t, ways[1].connect(t, s), "x")
		expect(t, strings.Contains(text, "x is defined in interpreter "), "%v", text)
	}
	record, text := run(t, first, "print(x, 'is kept')")
	expect(t, record["stdout"] == "42 is kept\n", "%v", text)
}
