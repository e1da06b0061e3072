package e2e

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"io/fs"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

const secretOfATest = "ghp_Zk3/9+wQ=Secret~Value42"

// echoAtLocalhost is a server at https://localhost that says whether it got the secret, and
// gives it back. The file has the certificate that it is known by.
func echoAtLocalhost(t *testing.T) (port, roots string) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	must(t, err)
	template := &x509.Certificate{SerialNumber: big.NewInt(1), DNSNames: []string{"localhost"}, NotAfter: time.Now().Add(time.Hour)}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	must(t, err)
	roots = filepath.Join(t.TempDir(), "roots.pem")
	writeFile(t, roots, string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})))
	site := httptest.NewUnstartedServer(http.HandlerFunc(func(out http.ResponseWriter, r *http.Request) {
		got := r.Header.Get("Authorization")
		out.Header().Set("X-Echo", got)
		_, _ = fmt.Fprintln(out, "right", got == "Bearer "+secretOfATest, "echo", got)
	}))
	site.TLS = &tls.Config{Certificates: []tls.Certificate{{Certificate: [][]byte{der}, PrivateKey: key}}}
	site.StartTLS()
	t.Cleanup(site.Close)
	_, port, err = net.SplitHostPort(site.Listener.Addr().String())
	must(t, err)
	return port, roots
}

const usesASecret = `
import os, urllib.error, urllib.request
def ask(address):
    request = urllib.request.Request(address, headers={"Authorization": "Bearer " + os.environ["TOKEN"]})
    try:
        answer = urllib.request.urlopen(request, timeout=60)
        return answer.headers["X-Echo"], answer.read()
    except (urllib.error.URLError, OSError) as error:
        return error
print("at its host", ask("https://localhost:PORT/"))
print("without TLS", ask("http://localhost:PORT/"))
print("elsewhere", ask("https://example.com/"))
for path in ["FILE", "/proc/PID/environ", "/proc/PID/mem"]:
    try:
        print("read", open(path, "rb").read(1))
    except OSError as error:
        print("no", error.strerror)
`

// TestSecretsOverStdio: code of a session uses one at its host and nowhere else, and neither
// what it gets nor the server's log and files have it.
func TestSecretsOverStdio(t *testing.T) {
	port, roots := echoAtLocalhost(t)
	file := filepath.Join(t.TempDir(), "secret")
	must(t, os.WriteFile(file, []byte("another-secret"), 0o644)) //nolint:gosec // that all may read it is the point
	cmd := command(t, "serve", "--sandbox", "standard", "--log-level", "debug",
		"--secret", "TOKEN=env:TOKEN@localhost:"+port, "--secret", "OTHER=file:"+file+"@localhost:"+port)
	must(t, os.Chmod(cmd.Dir, 0o777|os.ModeSticky)) //nolint:gosec // sessions work there as users of their own
	data, log := t.TempDir(), &strings.Builder{}
	cmd.Env = append(cmd.Env, "TOKEN="+secretOfATest, "SSL_CERT_FILE="+roots, "UNDERSTUDY_DATA_DIR="+data)
	cmd.Stderr = log
	link, err := startStdio(cmd)
	must(t, err)
	c := dial(t, link)
	_, text := run(t, c, strings.NewReplacer("PORT", port, "FILE", file, "PID", fmt.Sprint(cmd.Process.Pid)).Replace(usesASecret))
	must(t, c.Close())
	if strings.Contains(log.String(), "--secret needs") {
		t.Skip("the host does not allow it")
	}
	for _, want := range []string{"right true echo Bearer understudy-secret-TOKEN-", "without TLS HTTP Error 403", "--allow-net does not list this host"} {
		expect(t, strings.Contains(text, want), "no %q in %s", want, text)
	}
	expect(t, strings.Count(text, "\nno ") == 3, "%s", text)
	expect(t, !strings.Contains(text+log.String(), secretOfATest), "it is given away:\n%s\n%s", text, log)
	must(t, filepath.WalkDir(data, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || !entry.Type().IsRegular() {
			return err
		}
		text, err := os.ReadFile(path)
		expect(t, !strings.Contains(string(text), secretOfATest), "%s has it", path)
		return err
	}))
}
