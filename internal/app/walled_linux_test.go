package app

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"log/slog"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"understudy/internal/config"
	"understudy/internal/sandbox"
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

// echoSite is a server at https://localhost that gives back all that it gets. The server's
// SSL_CERT_FILE has its certificate.
func echoSite(t *testing.T) (port string) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	must(t, err)
	template := &x509.Certificate{SerialNumber: big.NewInt(1), DNSNames: []string{"localhost"}, NotAfter: time.Now().Add(time.Hour), IsCA: true, BasicConstraintsValid: true}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	must(t, err)
	file := filepath.Join(t.TempDir(), "roots.pem")
	must(t, os.WriteFile(file, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), 0o600))
	t.Setenv("SSL_CERT_FILE", file)
	site := httptest.NewUnstartedServer(http.HandlerFunc(func(out http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") == "Bearer the-secret-of-a-test" {
			_, _ = out.Write([]byte("right: "))
		}
		_ = r.Header.Write(out)
	}))
	site.TLS = &tls.Config{Certificates: []tls.Certificate{{Certificate: [][]byte{der}, PrivateKey: key}}}
	site.StartTLS()
	t.Cleanup(site.Close)
	_, port, err = net.SplitHostPort(site.Listener.Addr().String())
	must(t, err)
	return port
}

// TestSecretsOfASession: programs in it use one, and nothing that it can read has it.
func TestSecretsOfASession(t *testing.T) {
	port := echoSite(t)
	t.Setenv("A_TOKEN", "the-secret-of-a-test")
	a := opened(t, "--start", "spawn", "--secret", "A_TOKEN=env:A_TOKEN@localhost:"+port)
	expect(t, os.Getenv("A_TOKEN") == "", "processes of the server's get it")
	r, err := a.manager.Run(t.Context(), "ann", sessions.RunRequest{Code: strings.ReplaceAll(`
import glob, os, ssl, subprocess, urllib.request
header = "Authorization: Bearer " + os.environ["A_TOKEN"]
at = "https://localhost:PORT/"
print(os.environ["A_TOKEN"][:26])
print("urllib", urllib.request.urlopen(urllib.request.Request(at, headers=dict([header.split(": ")]))).read())
print("curl", subprocess.run(["curl", "-sS", "-H", header, at], capture_output=True, text=True))
try:
    import requests
    print("requests", requests.get(at, headers=dict([header.split(": ")])).text)
except ImportError:
    print("requests right: is not here")
secret = "-".join(["the", "secret", "of", "a", "test"]).encode()
found = []
for path in [*glob.glob("/proc/[0-9]*/environ"), *glob.glob("/proc/[0-9]*/cmdline"), os.environ["SSL_CERT_FILE"]]:
    try:
        with open(path, "rb") as file:
            text = file.read()
    except OSError:
        continue
    if secret in text or b"PRIVATE KEY" in text:
        found.append(path)
print("found", found)
`, "PORT", port)})
	must(t, err)
	if a.python.wall.Load().NoSecrets() != "" {
		t.Skip("the host does not allow it")
	}
	expect(t, strings.Contains(r.Stdout, "found []") && strings.Count(r.Stdout, "right: ") == 3 && strings.HasPrefix(r.Stdout, "understudy-secret-A_TOKEN-") &&
		!strings.Contains(r.Stdout, "the-secret-of-a-test"), "%s\n%s", r.Stdout, r.Traceback)
}

// TestSecretsNeedTheSandbox, and their values.
func TestSecretsNeedTheSandbox(t *testing.T) {
	c := serveConfig(t, "--transport", "http", "--sandbox", "standard", "--no-journal", "--secret", "A=env:NO_SUCH_VARIABLE@localhost")
	_, err := TakeSecrets(c)
	expect(t, err != nil && strings.Contains(err.Error(), "secret A: the server's environment has no NO_SUCH_VARIABLE"), "%v", err)
	expect(t, strings.Contains(strings.Join(c.Serve.AllowNet, ","), "localhost:443"), "%v", c.Serve.AllowNet)
}

// TestRootGivesAWorkspaceToItsSessions has one that is empty, one by way of a link, and
// one that the operator has given to somebody already.
func TestRootGivesAWorkspaceToItsSessions(t *testing.T) {
	if os.Geteuid() != 0 || sandbox.SharedUser() == 0 {
		t.Skip("only root gives directories away")
	}
	open := func(dir string) string {
		c := dataConfig(t, false)
		c.Serve.Workspace, c.Serve.Sandbox = dir, config.SandboxStandard
		return mustOpenWorkspace(t, c, slog.New(slog.DiscardHandler)).plan.Dir()
	}
	dir, given, link := t.TempDir(), t.TempDir(), filepath.Join(t.TempDir(), "link")
	must(t, errors.Join(os.Symlink(dir, link), os.Chown(given, 12345, 12345)))
	if got := open(link); got != dir {
		t.Error(got)
	}
	open(given)
	for path, want := range map[string]uint32{link: 0, dir: uint32(sandbox.SharedUser()), given: 12345} {
		info, err := os.Lstat(path)
		must(t, err)
		got := info.Sys().(*syscall.Stat_t).Uid
		expect(t, got == want, "%s belongs to %d, not %d", path, got, want)
	}
}

// TestAWorkspaceFromBeforeTheSandbox is refused as the server starts, until all of it has
// been given to those who work in it then.
func TestAWorkspaceFromBeforeTheSandbox(t *testing.T) {
	if os.Geteuid() != 0 || sandbox.SharedUser() == 0 {
		t.Skip("only root runs code as somebody else")
	}
	dir := t.TempDir()
	input := filepath.Join(dir, "input")
	must(t, errors.Join(os.Mkdir(input, 0o700), os.WriteFile(filepath.Join(input, "a.csv"), nil, 0o600)))
	refused := func(user int) {
		t.Helper()
		err := GiveToSessions(dir, slog.New(slog.DiscardHandler))
		want := fmt.Sprintf("chown -R %d:%d %s", user, user, dir)
		expect(t, err != nil && strings.Contains(err.Error(), want), "%v does not say %q", err, want)
	}
	refused(sandbox.SharedUser())
	if err := os.Chown(dir, 12345, 12345); err != nil { // which is not enough
		t.Fatal(err)
	}
	refused(12345)
	must(t, os.Chown(input, 12345, 12345))
	must(t, GiveToSessions(dir, slog.New(slog.DiscardHandler)))
}

// TestReadOnlyDirectory starts in a file system that root can't write to either.
func TestReadOnlyDirectory(t *testing.T) {
	home, dir := atHome(t), t.TempDir()
	if err := unix.Mount("tmpfs", dir, "tmpfs", unix.MS_RDONLY, ""); err != nil {
		t.Skip("nothing can be mounted: ", err)
	}
	t.Cleanup(func() {
		must(t, unix.Unmount(dir, unix.MNT_DETACH))
	})
	t.Chdir(dir)
	p := projectDir(serveConfig(t))
	expect(t, p.dir == filepath.Join(home, "understudy") && strings.HasSuffix(p.unfit, dir+", which can't be written to"), "%+v", p)
}
