package connect

import (
	"context"
	"crypto/rand"
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

// listen makes a socket that only this user may use. Its directory is made, and
// closed to others from the beginning, so that nobody else can reach the socket
// before it has its mode. A socket that a killed server left is replaced; for one
// that ends now it waits as long as ctx allows.
func listen(ctx context.Context, path string) (*Socket, error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return nil, fmt.Errorf("making the directory for the socket: %w", err)
	}
	short, done, err := shorten(path)
	if err != nil {
		return nil, err
	}
	if err := removeStale(ctx, short); err != nil {
		done()
		return nil, err
	}
	token, err := writeToken(path) // first: who connects reads it then
	if err != nil {
		done()
		return nil, err
	}
	l, err := net.Listen("unix", short)
	if err != nil {
		done()
		return nil, fmt.Errorf("listening on %s: %w", path, err)
	}
	s := &Socket{UnixListener: l.(*net.UnixListener), Token: token, path: short, tokenPath: tokenPath(path), done: done}
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
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err != nil {
			return err
		}
		conn, err := net.Dial("unix", path)
		if err != nil {
			// On Windows a socket is a reparse point, and no file mode says so.
			if info.Mode().IsRegular() && info.Size() > 0 {
				return fmt.Errorf("%s is there and is no socket; remove it", path)
			}
			return os.Remove(path)
		}
		_ = conn.Close()
		select {
		case <-ctx.Done():
			return fmt.Errorf("another server answers at %s", path)
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// Socket is where a server listens. It removes its files at the end if they are still
// its own.
type Socket struct {
	*net.UnixListener
	// Token is what a connection must know. It is in a file beside the socket, which
	// code in a sandbox can't read, whereas nothing keeps it from connecting where
	// there are no namespaces: not even to the socket of another server.
	Token string

	path      string
	tokenPath string
	file      os.FileInfo
	done      func() // lets go of what made the path short
	close     func() error
}

func tokenPath(socket string) string { return socket + ".token" }

func writeToken(socket string) (string, error) {
	token, path := rand.Text(), tokenPath(socket)
	if err := os.WriteFile(path, []byte(token), 0o600); err != nil {
		return "", fmt.Errorf("writing the token of the server's socket: %w", err)
	}
	return token, nil
}

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
		_ = os.Remove(s.tokenPath) // before another server can write its own
		_ = os.Remove(s.path)      // one that stays is replaced as stale
	}
	return s.UnixListener.Close()
}

// dial connects to a server's socket.
func dial(path string) (net.Conn, error) {
	short, done, err := shorten(path)
	if err != nil {
		return nil, err
	}
	defer done()
	return net.Dial("unix", short)
}
