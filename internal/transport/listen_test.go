package transport

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"io"
	"log/slog"
	"math/big"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// countingListener accepts whatever it is asked for, and counts.
type countingListener struct {
	net.Listener
	accepted atomic.Int32
}

func (c *countingListener) Accept() (net.Conn, error) {
	c.accepted.Add(1)
	conn, _ := net.Pipe()
	return conn, nil
}

func (c *countingListener) Close() error { return nil }

func TestConnectionsAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		inner := &countingListener{}
		l := bounded(inner, 2)
		conns := make(chan net.Conn, 10)
		ended := make(chan error, 1)
		go func() {
			for {
				conn, err := l.Accept()
				if err != nil {
					ended <- err
					return
				}
				conns <- conn
			}
		}()
		for want := int32(2); want < 5; want++ {
			synctest.Wait()
			n := inner.accepted.Load()
			insist(t, n == want, "%d connections, not %d", n, want)
			conn := <-conns
			_ = conn.Close()
			_ = conn.Close() // gives its place back once
		}
		synctest.Wait()
		_ = l.Close()
		if err := <-ended; !errors.Is(err, net.ErrClosed) {
			t.Error(err)
		}
	})
}

// TestOneAddressHasItsShare, and this machine more.
func TestOneAddressHasItsShare(t *testing.T) {
	l := bounded(&countingListener{}, 8).(*boundedListener)
	far := placeOf(&net.TCPAddr{IP: net.ParseIP("192.0.2.1"), Port: 1})
	for _, want := range []bool{true, true, false, false} {
		got := l.count(far, 1)
		expect(t, got == want, "%v, not %v", got, want)
	}
	expect(t, l.count(placeOf(&net.TCPAddr{IP: net.ParseIP("192.0.2.2")}), 1), "another address has no place")
	l.count(far, -1)
	expect(t, l.count(far, 1), "a place is not given back")
	for _, here := range []net.Addr{&net.TCPAddr{IP: net.IPv4(127, 0, 0, 1)}, &net.TCPAddr{IP: net.IPv6loopback}, &net.UnixAddr{}} {
		place := placeOf(here)
		expect(t, place == "", "%s is not here: %s", here, place)
	}
}

// writeCertificate makes a certificate for 127.0.0.1 with a serial number.
func writeCertificate(t *testing.T, dir string, serial int64) (cert, key string, pool *x509.CertPool) {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	must(t, err)
	template := &x509.Certificate{
		SerialNumber: big.NewInt(serial), Subject: pkix.Name{CommonName: "test"}, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour), IsCA: true, BasicConstraintsValid: true,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, private.Public(), private)
	must(t, err)
	secret, err := x509.MarshalPKCS8PrivateKey(private)
	must(t, err)
	cert, key = filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem")
	for path, block := range map[string]*pem.Block{cert: {Type: "CERTIFICATE", Bytes: der}, key: {Type: "PRIVATE KEY", Bytes: secret}} {
		must(t, os.WriteFile(path, pem.EncodeToMemory(block), 0o600))
	}
	parsed, err := x509.ParseCertificate(der)
	must(t, err)
	pool = x509.NewCertPool()
	pool.AddCert(parsed)
	return cert, key, pool
}

func TestTLS(t *testing.T) {
	t.Parallel()
	cert, key, pool := writeCertificate(t, t.TempDir(), 1)
	config, err := TLSConfig(cert, key, slog.New(slog.DiscardHandler))
	must(t, err)
	// A machine that stops for a while between a head and its body must not look like a
	// client that does.
	h := open(t, HTTPOptions{TLS: config, sending: 3 * time.Second, reading: 3 * time.Second})
	var calls sync.WaitGroup
	for _, second := range []bool{false, true} {
		client := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: pool}, ForceAttemptHTTP2: second}}
		defer client.CloseIdleConnections()
		q := inModern(t, post(calling(1, "wait", "")))
		r, err := http.NewRequest(q.method, "https://"+h.addr+q.path, strings.NewReader(q.body))
		must(t, err)
		for name, value := range q.header {
			r.Header.Set(name, value)
		}
		r.Header.Set("Origin", "https://"+h.addr)
		calls.Go(func() {
			response, err := client.Do(r)
			if err != nil {
				t.Error(err)
				return
			}
			body, _ := io.ReadAll(response.Body)
			_ = response.Body.Close()
			expect(t, textOf(t, string(body)) == "finished" && response.ProtoMajor == 2 == second, "%s: %s", response.Proto, body)
		})
		soon(t, h.tools.began)
	}
	time.Sleep(3500 * time.Millisecond) // longer than all deadlines: nothing may happen
	for range 2 {
		h.tools.finish <- struct{}{}
	}
	calls.Wait()
	_, err = tls.Dial("tcp", h.addr, &tls.Config{RootCAs: pool, MaxVersion: tls.VersionTLS11, MinVersion: tls.VersionTLS10})
	expect(t, err != nil, "TLS 1.1 is accepted")
}

func TestANewCertificateIsTaken(t *testing.T) {
	dir := t.TempDir()
	path, key, _ := writeCertificate(t, dir, 1)
	c := &certificate{cert: path, key: key, log: slog.New(slog.DiscardHandler)}
	must(t, c.load())
	serial := func() int64 { return c.current().Leaf.SerialNumber.Int64() }
	n := serial()
	insist(t, n == 1, "%v", n)
	must(t, os.WriteFile(key, []byte("half written"), 0o600))
	if n := serial(); n != 1 {
		t.Errorf("a broken pair is served: %d", n)
	}
	writeCertificate(t, dir, 2)
	if n := serial(); n != 2 {
		t.Errorf("the new certificate is not served: %d", n)
	}
	_, err := TLSConfig(path, filepath.Join(dir, "missing"), nil)
	expect(t, err != nil, "a missing key is no error")
}
