package egress

import (
	"archive/zip"
	"bytes"
	"encoding/pem"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// run runs a program as in a session of w's and returns all that it printed.
func (w *world) run(t *testing.T, program string, args ...string) (string, error) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), program, args...)
	proxy := "http://" + w.addr
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + t.TempDir(),
		"HTTP_PROXY=" + proxy, "HTTPS_PROXY=" + proxy, "http_proxy=" + proxy, "https_proxy=" + proxy}
	out, err := cmd.CombinedOutput()
	return string(out), err
}

func python(t *testing.T) string {
	t.Helper()
	python := os.Getenv("UNDERSTUDY_TEST_PYTHON")
	if python == "" {
		t.Skip("UNDERSTUDY_TEST_PYTHON is not set")
	}
	return python
}

// certificate writes the certificate of secureSite to a file.
func certificate(t *testing.T) string {
	t.Helper()
	server := httptest.NewTLSServer(nil) // all of httptest's have the same
	defer server.Close()
	file := filepath.Join(t.TempDir(), "ca.pem")
	text := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
	must(t, os.WriteFile(file, text, 0o600))
	return file
}

func TestUrllib(t *testing.T) {
	w := begin(t, "example.com")
	w.secureSite(t)
	out, err := w.run(t, python(t), "-c", `
import ssl, sys, urllib.request
trusting = ssl.create_default_context(cafile=sys.argv[1])
print(urllib.request.urlopen("https://example.com/", context=trusting).read().decode())
for url in "https://evil.net/", "http://evil.net/":
    try:
        urllib.request.urlopen(url, context=trusting)
    except OSError as error:
        print(error)
`, certificate(t))
	const no = "the server's --allow-net does not list this host"
	if want := "you asked example.com\n" +
		"<urlopen error Tunnel connection failed: 403 understudy: no connection to evil.net:443: " + no + ">\n" +
		"HTTP Error 403: understudy: no connection to evil.net:80: " + no + "\n"; err != nil || out != want {
		t.Errorf("%s, %v", out, err)
	}
}

// index is a package index with one wheel, as PEP 503 wants it.
func index(t *testing.T) string {
	t.Helper()
	const name = "understudy_tiny-1.0-py3-none-any.whl"
	var wheel bytes.Buffer
	z := zip.NewWriter(&wheel)
	for file, text := range map[string]string{
		"understudy_tiny.py":                      "answer = 42\n",
		"understudy_tiny-1.0.dist-info/METADATA":  "Metadata-Version: 2.1\nName: understudy-tiny\nVersion: 1.0\n",
		"understudy_tiny-1.0.dist-info/WHEEL":     "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
		"understudy_tiny-1.0.dist-info/RECORD":    "understudy_tiny.py,,\nunderstudy_tiny-1.0.dist-info/METADATA,,\nunderstudy_tiny-1.0.dist-info/WHEEL,,\nunderstudy_tiny-1.0.dist-info/RECORD,,\n",
		"understudy_tiny-1.0.dist-info/top_level": "understudy_tiny\n",
	} {
		entry, err := z.Create(file)
		must(t, err)
		fmt.Fprint(entry, text)
	}
	must(t, z.Close())
	pages := http.NewServeMux()
	pages.HandleFunc("/simple/understudy-tiny/", func(out http.ResponseWriter, _ *http.Request) {
		out.Header().Set("Content-Type", "text/html")
		fmt.Fprintf(out, `<!DOCTYPE html><html><body><a href="/files/%s">%s</a></body></html>`, name, name)
	})
	pages.HandleFunc("/files/"+name, func(out http.ResponseWriter, _ *http.Request) { _, _ = out.Write(wheel.Bytes()) })
	server := httptest.NewServer(pages)
	t.Cleanup(server.Close)
	_, port, err := net.SplitHostPort(server.Listener.Addr().String())
	must(t, err)
	return "localhost:" + port
}

func TestPip(t *testing.T) {
	python := python(t)
	if out, err := exec.Command(python, "-m", "pip", "--version").CombinedOutput(); err != nil {
		t.Skipf("there is no pip: %s", out)
	}
	host := index(t)
	p, err := New(Options{Hosts: []string{host}})
	must(t, err)
	t.Cleanup(p.Close)
	w := &world{proxy: p}
	w.addr = w.serve(t).Addr().String()
	target := t.TempDir()
	install := func(index string, more ...string) (string, error) {
		args := []string{"-m", "pip", "install", "--isolated", "--no-cache-dir", "--disable-pip-version-check", "--no-input",
			"--target", target, "--index-url", index, "understudy-tiny"}
		return w.run(t, python, append(args, more...)...)
	}
	if out, err := install("http://" + host + "/simple"); err != nil || !strings.Contains(out, "Successfully installed understudy-tiny-1.0") {
		t.Fatalf("%s, %v", out, err)
	}
	if text, err := os.ReadFile(filepath.Join(target, "understudy_tiny.py")); err != nil || string(text) != "answer = 42\n" {
		t.Errorf("%q, %v", text, err)
	}
	// pip says why it tries again, but of an answer only with -vv.
	for index, more := range map[string][]string{"https://evil.net/simple": {"--retries", "1"}, "http://evil.net/simple": {"-vv", "--trusted-host", "evil.net"}} {
		out, err := install(index, more...)
		expect(t, err != nil && strings.Contains(out, "the server's --allow-net does not list this host"), "%s: %v, %s", index, err, out)
	}
}
