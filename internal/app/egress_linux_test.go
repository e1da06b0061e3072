package app

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"understudy/internal/sandbox"
	"understudy/internal/worker"
	"understudy/internal/worker/workertest"
	"understudy/pyworker"
	"understudy/sessions"
)

// behindTheWall starts a session that may reach the hosts, or says why it can't here.
func behindTheWall(t *testing.T, hosts []string, serve func(string, net.Listener)) sessions.Worker {
	t.Helper()
	python := workertest.Python(t)
	confine, err := pyworker.Files.ReadFile("sandbox/confine.py")
	if err != nil {
		t.Fatal(err)
	}
	host, err := sandbox.Detect(t.Context(), python, confine)
	if err != nil {
		t.Fatal(err)
	}
	if host.NoNamespaces != "" {
		t.Skip("there are no namespaces here: ", host.NoNamespaces)
	}
	linked, err := filepath.EvalSymlinks(python)
	if err != nil {
		t.Fatal(err)
	}
	library := filepath.Join(t.TempDir(), "lib")
	wall, err := sandbox.New(sandbox.Settings{
		Mode: sandbox.Standard, Network: sandbox.Network{Hosts: hosts},
		Python: []string{library, filepath.Dir(filepath.Dir(python)), filepath.Dir(filepath.Dir(linked))},
	}, host)
	if err != nil {
		t.Fatal(err)
	}
	home := filepath.Join(t.TempDir(), "home")
	temporary, workdir := filepath.Join(home, "tmp"), filepath.Join(home, "work")
	for _, dir := range []string{temporary, workdir} {
		if err := os.MkdirAll(dir, 0o711); err != nil {
			t.Fatal(err)
		}
	}
	if err := wall.Admit("ann", temporary, workdir); err != nil {
		t.Fatal(err)
	}
	spawner := worker.NewSpawner(worker.Options{Python: python, LibraryDir: library, Wall: wall, Serve: serve})
	t.Cleanup(func() { _ = spawner.Close(context.Background()) })
	w, err := spawner.Start(t.Context(), sessions.Spec{InterpreterID: "ann", Group: "ann", Home: home, Workdir: workdir, FirstExecution: 1})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = w.Close(context.Background()) })
	return w
}

// TestTheWayOut: a session behind the wall reaches what is listed, by the proxy alone.
func TestTheWayOut(t *testing.T) {
	site := httptest.NewServer(http.HandlerFunc(func(out http.ResponseWriter, r *http.Request) { fmt.Fprint(out, "you asked ", r.Host) }))
	t.Cleanup(site.Close)
	_, port, err := net.SplitHostPort(site.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	hosts := []string{"localhost:" + port}
	p, err := newEgress(hosts, nil, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Close)
	w := behindTheWall(t, hosts, serving(p))
	_, sink := workertest.Run(t, w, strings.ReplaceAll(`
import os, socket, urllib.request
os.environ["no_proxy"] = os.environ["NO_PROXY"] = ""
def ask(url):
    try:
        print(urllib.request.urlopen(url).read().decode())
    except OSError as error:
        print(error)
ask("http://localhost:PORT/")
ask("http://localhost:1/")
ask("https://evil.net/")
try:
    socket.create_connection(("127.0.0.1", PORT))
except OSError as error:
    print(error.strerror)
`, "PORT", port))
	want := "you asked localhost:" + port + `
HTTP Error 403: understudy: no connection to localhost:1: the server's --allow-net lists this host, but not this port (443 and 80 where it names none)
<urlopen error Tunnel connection failed: 403 understudy: no connection to evil.net:443: the server's --allow-net does not list this host>
Connection refused
`
	if got := sink.Text(sessions.Stdout) + sink.Text(sessions.Stderr); got != want {
		t.Errorf("got %q", got)
	}
	p.Release("ann")
	_, sink = workertest.Run(t, w, "ask('http://localhost:1/')")
	if got := sink.Text(sessions.Stdout); !strings.Contains(got, "refused") && !strings.Contains(got, "reset") && !strings.Contains(got, "closed") {
		t.Errorf("got %q", got)
	}
}
