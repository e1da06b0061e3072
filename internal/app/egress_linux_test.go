package app

import (
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"understudy/sessions"
)

// TestTheWayOut: a session behind the wall reaches what is listed, by the proxy alone.
func TestTheWayOut(t *testing.T) {
	site := httptest.NewServer(http.HandlerFunc(func(out http.ResponseWriter, r *http.Request) { fmt.Fprint(out, "you asked ", r.Host) }))
	t.Cleanup(site.Close)
	_, port, err := net.SplitHostPort(site.Listener.Addr().String())
	must(t, err)
	a := opened(t, "--start", "spawn", "--allow-net", "localhost:"+port)
	r, err := a.manager.Run(t.Context(), "ann", sessions.RunRequest{Code: strings.ReplaceAll(`
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
`, "PORT", port)})
	must(t, err)
	if layers := activeLayers(a.python.wall.Load()); !slices.Contains(layers, "namespaces") {
		t.Skip("there are no namespaces here: ", layers)
	}
	want := "you asked localhost:" + port + `
HTTP Error 403: understudy: no connection to localhost:1: the server's --allow-net lists this host, but not this port (443 and 80 where it names none)
<urlopen error Tunnel connection failed: 403 understudy: no connection to evil.net:443: the server's --allow-net does not list this host>
Connection refused
`
	expect(t, r.Stdout == want, "got %q, %s", r.Stdout, r.Traceback)
	a.python.proxy.Release(r.InterpreterID)
	r, err = a.manager.Run(t.Context(), "ann", sessions.RunRequest{Code: "ask('http://localhost:1/')"})
	expect(t, err == nil && (strings.Contains(r.Stdout, "refused") || strings.Contains(r.Stdout, "reset") || strings.Contains(r.Stdout, "closed")),
		"after its release it gets %q, %v, %s, %s", r.Stdout, err, r.Status, r.Traceback)
}
