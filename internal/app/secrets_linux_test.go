package app

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"understudy/sessions"
)

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
