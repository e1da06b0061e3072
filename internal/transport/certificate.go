package transport

import (
	"bytes"
	"crypto/tls"
	"fmt"
	"log/slog"
	"os"
	"sync"
	"time"
)

// certificateCheck is how often the files are looked at, at most.
const certificateCheck = 5 * time.Second

// certificate is a pair of files that may be replaced while the server runs.
type certificate struct {
	cert, key string
	log       *slog.Logger
	every     time.Duration

	mu      sync.Mutex
	pair    *tls.Certificate
	text    [2][]byte // of the pair
	checked time.Time
}

// TLSConfig returns a configuration that serves the certificate in the two
// files, and their next one when they change. TLS 1.2 is the least.
func TLSConfig(cert, key string, log *slog.Logger) (*tls.Config, error) {
	c := &certificate{cert: cert, key: key, log: log, every: certificateCheck}
	if _, err := c.load(); err != nil {
		return nil, err
	}
	return &tls.Config{
		MinVersion: tls.VersionTLS12, NextProtos: []string{"h2", "http/1.1"},
		GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) { return c.current(), nil },
	}, nil
}

// current returns the newest certificate that could be read. While one file is new and
// the other not yet, they don't fit together: the old pair serves until the next look.
func (c *certificate) current() *tls.Certificate {
	c.mu.Lock()
	defer c.mu.Unlock()
	if time.Since(c.checked) < c.every {
		return c.pair
	}
	if changed, err := c.load(); err != nil {
		c.log.Warn("the new certificate can't be used; the old one serves on", "error", err)
	} else if changed {
		c.log.Info("the certificate was replaced", "file", c.cert)
	}
	return c.pair
}

// load takes over the pair that is there, if it is a new one.
func (c *certificate) load() (changed bool, err error) {
	c.checked = time.Now()
	cert, err := os.ReadFile(c.cert)
	if err != nil {
		return false, fmt.Errorf("reading the certificate: %w", err)
	}
	key, err := os.ReadFile(c.key)
	if err != nil {
		return false, fmt.Errorf("reading the certificate: %w", err)
	}
	if bytes.Equal(cert, c.text[0]) && bytes.Equal(key, c.text[1]) {
		return false, nil
	}
	pair, err := tls.X509KeyPair(cert, key)
	if err != nil {
		return false, fmt.Errorf("reading the certificate: %w", err)
	}
	c.pair, c.text = &pair, [2][]byte{cert, key}
	return true, nil
}
