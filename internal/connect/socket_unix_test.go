//go:build unix

package connect

import (
	"errors"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// TestAnothersSocketIsNotRemoved: by a server whose own file was taken away, nor
// by one that is closed twice.
func TestAnothersSocketIsNotRemoved(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s")
	listen := func() net.Listener {
		l, err := ListenSocket(path)
		must(t, err)
		t.Cleanup(func() { _ = l.Close() })
		return l
	}
	isThere := func(when string) {
		conn, err := net.Dial("unix", path)
		insist(t, err == nil, "%s: %v", when, err)
		_ = conn.Close()
	}
	first := listen()
	must(t, os.Remove(path))
	second := listen()
	must(t, first.Close())
	isThere("the first one has ended")
	must(t, second.Close())
	if _, err := os.Lstat(path); !os.IsNotExist(err) {
		t.Errorf("its own is left: %v", err)
	}
	listen()
	_ = second.Close()
	isThere("the second one was closed twice")
}

func TestStaleSockets(t *testing.T) {
	dir := t.TempDir()
	stale := filepath.Join(dir, "stale")
	old, err := net.Listen("unix", stale)
	must(t, err)
	old.(*net.UnixListener).SetUnlinkOnClose(false)
	_ = old.Close()
	l, err := ListenSocket(stale)
	insist(t, err == nil, "the socket of a dead server is in the way: %v", err)
	_ = l.Close()

	file := filepath.Join(dir, "file")
	must(t, os.WriteFile(file, []byte("precious"), 0o600))
	if _, err := ListenSocket(file); err == nil || !strings.Contains(err.Error(), "is no socket") {
		t.Errorf("%v", err)
	}
	if text, err := os.ReadFile(file); string(text) != "precious" {
		t.Errorf("a file was overwritten: %v", err)
	}
}

// TestABusySocketIsNotStale: one whose queue is full has somebody behind it.
func TestABusySocketIsNotStale(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s")
	fd, err := syscall.Socket(syscall.AF_UNIX, syscall.SOCK_STREAM, 0)
	must(t, err)
	defer syscall.Close(fd)
	must(t, errors.Join(syscall.Bind(fd, &syscall.SockaddrUnix{Name: path}), syscall.Listen(fd, 0)))
	for range 100 { // until the queue is full
		conn, err := net.Dial("unix", path)
		if err != nil {
			break
		}
		defer conn.Close()
	}
	if l, err := ListenSocket(path); err == nil {
		_ = l.Close()
		t.Error("the socket of a live server was taken")
	}
	if _, err := os.Lstat(path); err != nil {
		t.Error(err)
	}
}
