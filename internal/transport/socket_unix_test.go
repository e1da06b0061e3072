//go:build unix

package transport

import (
	"net"
	"os"
	"path/filepath"
	"testing"
)

// TestAnothersSocketIsNotRemoved: by a server whose own file was taken away, nor
// by one that is closed twice.
func TestAnothersSocketIsNotRemoved(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s")
	listen := func() net.Listener {
		l, err := ListenSocket(path)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = l.Close() })
		return l
	}
	isThere := func(when string) {
		conn, err := net.Dial("unix", path)
		if err != nil {
			t.Fatalf("%s: %v", when, err)
		}
		_ = conn.Close()
	}
	first := listen()
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	second := listen()
	if err := first.Close(); err != nil {
		t.Error(err)
	}
	isThere("the first one has ended")
	if err := second.Close(); err != nil {
		t.Error(err)
	}
	if _, err := os.Lstat(path); !os.IsNotExist(err) {
		t.Errorf("its own is left: %v", err)
	}
	listen()
	_ = second.Close()
	isThere("the second one was closed twice")
}
