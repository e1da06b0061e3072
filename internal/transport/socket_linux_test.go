package transport

import (
	"errors"
	"net"
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

// TestABusySocketIsNotStale: one whose queue is full has somebody behind it.
func TestABusySocketIsNotStale(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s")
	fd, err := syscall.Socket(syscall.AF_UNIX, syscall.SOCK_STREAM|syscall.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer syscall.Close(fd)
	if err := errors.Join(syscall.Bind(fd, &syscall.SockaddrUnix{Name: path}), syscall.Listen(fd, 0)); err != nil {
		t.Fatal(err)
	}
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
