package transport

import (
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
	state   [2]fileState
	checked time.Time
}

type fileState struct {
	modified time.Time
	size     int64
}

// TLSConfig returns a configuration that serves the certificate in the two
// files, and their next one when they change. TLS 1.2 is the least.
func TLSConfig(cert, key string, log *slog.Logger) (*tls.Config, error) {
	c := &certificate{cert: cert, key: key, log: log, every: certificateCheck}
	if err := c.load(); err != nil {
		return nil, err
	}
	return &tls.Config{
		MinVersion: tls.VersionTLS12, NextProtos: []string{"h2", "http/1.1"},
		GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) { return c.current(), nil },
	}, nil
}

// current returns the newest certificate that could be read.
func (c *certificate) current() *tls.Certificate {
	c.mu.Lock()
	defer c.mu.Unlock()
	if time.Since(c.checked) < c.every {
		return c.pair
	}
	c.checked = time.Now()
	if state, err := c.look(); err == nil && state == c.state {
		return c.pair
	}
	// While one file is new and the other not yet, they don't fit together: the
	// old pair serves until the next look.
	if err := c.load(); err != nil {
		c.log.Warn("the new certificate can't be used; the old one serves on", "error", err)
	} else {
		c.log.Info("the certificate was replaced", "file", c.cert)
	}
	return c.pair
}

func (c *certificate) load() error {
	state, err := c.look()
	if err != nil {
		return fmt.Errorf("reading the certificate: %w", err)
	}
	pair, err := tls.LoadX509KeyPair(c.cert, c.key)
	if err != nil {
		return fmt.Errorf("reading the certificate: %w", err)
	}
	c.pair, c.state, c.checked = &pair, state, time.Now()
	return nil
}

func (c *certificate) look() (state [2]fileState, err error) {
	for i, path := range []string{c.cert, c.key} {
		info, err := os.Stat(path)
		if err != nil {
			return state, err
		}
		state[i] = fileState{info.ModTime(), info.Size()}
	}
	return state, nil
}
