package connect

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"sync"
	"time"
)

// maxSocketPath is how long the path of a socket may be on every system: 104
// bytes with its zero on macOS, 108 on Linux.
const maxSocketPath = 103

// ListenSocket makes a Unix socket without a token, in any directory. Call it before
// anything else runs.
func ListenSocket(path string) (net.Listener, error) {
	defer closeMask()()
	s, err := listen(over(), path, "")
	if err != nil {
		return nil, err
	}
	return s, nil
}

// over is a context that has ended: for who waits for nobody.
func over() context.Context {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	return ctx
}

// listen makes a socket that only this user may use. Its directory is made, and closed to
// others from the beginning, so that nobody else can reach the socket before it has its
// mode. A socket that a killed server left is replaced; for one that ends now it waits as
// long as ctx allows.
func listen(ctx context.Context, path, token string) (*Socket, error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return nil, fmt.Errorf("making the directory for the socket: %w", err)
	}
	short, done, err := shorten(path)
	if err != nil {
		return nil, err
	}
	s := &Socket{Token: token, path: short, done: done}
	if err = removeStale(ctx, short); err == nil && token != "" {
		// First: who connects reads it then.
		s.tokenPath = tokenPath(short)
		err = os.WriteFile(s.tokenPath, []byte(token), 0o600)
	}
	if err == nil {
		s.UnixListener, err = net.ListenUnix("unix", &net.UnixAddr{Name: short, Net: "unix"})
	}
	if err != nil {
		done()
		return nil, fmt.Errorf("listening on %s: %w", path, err)
	}
	s.SetUnlinkOnClose(false)
	s.close = sync.OnceValue(s.end)
	err = os.Chmod(short, 0o600)
	if err == nil {
		s.file, err = os.Lstat(short)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("listening on %s: %w", path, err), s.Close())
	}
	return s, nil
}

// removeStale removes a socket at which nobody listens any more.
func removeStale(ctx context.Context, path string) error {
	for {
		info, err := os.Lstat(path)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return nil
		case err != nil:
			return err
		case info.Mode()&fs.ModeSocket == 0:
			return errors.New("that is there and is no socket; remove it or choose another path")
		}
		conn, err := net.Dial("unix", path)
		switch {
		case err == nil:
			_ = conn.Close()
		case isRefused(err):
			return os.Remove(path)
		case errors.Is(err, fs.ErrNotExist):
			return nil
		default: // its queue may be full, say: then somebody is there
			return fmt.Errorf("it can't be told whether a server is there; remove the socket if there is none: %w", err)
		}
		select {
		case <-ctx.Done():
			return errors.New("another server answers there")
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// Socket is where a server listens. It removes its files at the end if they are still
// its own.
type Socket struct {
	*net.UnixListener
	// Token is what a connection must know, if there is one. It is in a file beside the
	// socket, which code in a sandbox can't read, whereas nothing keeps it from
	// connecting where there are no namespaces: not even to another server's socket.
	Token string

	path      string
	tokenPath string
	file      os.FileInfo
	done      func() // lets go of what made the path short
	close     func() error
}

func tokenPath(socket string) string { return socket + ".token" }

// readToken returns the token of a server that has been connected to. There is none
// when that server ends.
func readToken(socket string) (string, error) {
	token, err := os.ReadFile(tokenPath(socket))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "", fmt.Errorf("reading the token of the server's socket: %w", err)
	}
	return string(token), nil
}

// Close ends listening.
func (s *Socket) Close() error { return s.close() }

func (s *Socket) end() error {
	defer s.done()
	// The files go first: nobody can take the path as long as we listen.
	if now, err := os.Lstat(s.path); s.file != nil && err == nil && os.SameFile(now, s.file) {
		if s.Token != "" {
			_ = os.Remove(s.tokenPath) // before another server can write its own
		}
		_ = os.Remove(s.path) // one that stays is replaced as stale
	}
	return s.UnixListener.Close()
}

// dial connects to a server's socket.
func dial(path string) (*net.UnixConn, error) {
	short, done, err := shorten(path)
	if err != nil {
		return nil, err
	}
	defer done()
	return net.DialUnix("unix", nil, &net.UnixAddr{Name: short, Net: "unix"})
}
