package connect

import (
	"context"
	"crypto/rand"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"
)

// Place is where the background server for one directory and settings is found.
type Place struct {
	dir string // of the sockets of all background servers
	key string
}

// PlaceOf returns the place for a key, a plain file name, below the data directory.
func PlaceOf(dataDir, key string) Place { return Place{filepath.Join(dataDir, "shared"), key} }

func (p Place) socket() string { return filepath.Join(p.dir, p.key+".socket") }
func (p Place) lock() string   { return filepath.Join(p.dir, "lock") }

// Listen makes the socket of the background server. It waits for a server that
// ends at this moment.
func (p Place) Listen(ctx context.Context) (*Socket, error) {
	ctx, cancel := context.WithTimeout(ctx, startPatience)
	defer cancel()
	return listen(ctx, p.socket(), rand.Text())
}

// DoorOf is the path of the socket of a server with the given run directory.
func DoorOf(run string) string { return filepath.Join(run, "door", "socket") }

// ListenAt makes the socket of a server that only its operator may use.
func ListenAt(path string) (*Socket, error) {
	return listen(over(), path, rand.Text()) // nobody else can be there
}

// Found is a running server.
type Found struct {
	About
	Socket string
}

// lookPatience is how long a server may take to say who it is. One that is
// stopped is passed over.
const lookPatience = 2 * time.Second

// Running finds the servers of a data directory that answer, those of the
// background first.
func Running(dataDir string) []Found {
	var paths []string
	for _, pattern := range []string{filepath.Join("shared", "*.socket"), filepath.Join("run", "*", "door", "socket")} {
		some, err := filepath.Glob(filepath.Join(escapeGlob(dataDir), pattern))
		if err == nil {
			paths = append(paths, some...)
		}
	}
	found := make([]Found, len(paths))
	var looking sync.WaitGroup
	for i, path := range paths {
		looking.Go(func() {
			if conn, about, err := open(path, RoleLook); err == nil {
				_ = conn.Close()
				found[i] = Found{about, path}
			}
		})
	}
	looking.Wait()
	return slices.DeleteFunc(found, func(f Found) bool { return f.Socket == "" || f.PID == os.Getpid() })
}

// escapeGlob has a path match itself alone.
func escapeGlob(path string) string {
	if os.PathSeparator == '\\' { // which has no way to escape
		return path
	}
	return strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`).Replace(path)
}

// Open connects to a running server as its operator. What carries MCP is the
// connection that it returns.
func (f Found) Open() (net.Conn, error) {
	conn, _, err := open(f.Socket, RoleOperator)
	return conn, err
}

func open(path, role string) (net.Conn, About, error) {
	conn, err := dial(path)
	if err != nil {
		return nil, About{}, err
	}
	_ = conn.SetDeadline(time.Now().Add(lookPatience))
	about, in, err := greet(conn, path, Hello{Role: role})
	if err != nil {
		_ = conn.Close()
		return nil, About{}, err
	}
	_ = conn.SetDeadline(time.Time{})
	return greeted{conn, in}, about, nil
}
