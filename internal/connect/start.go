package connect

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/gofrs/flock"
)

// startPatience is how long a background server may take until it accepts
// connections: it waits for no Python, so this is a busy machine's time.
const startPatience = 30 * time.Second

// Starter starts the background server of a place.
type Starter struct {
	Place Place
	// Launch is the command line that starts a server: this program as a launcher,
	// which starts the server in a session of its own and ends. The path of the
	// server's log is added as the last argument.
	Launch []string
}

// connection returns one to the server, which is started if there is none.
func (s Starter) connection(ctx context.Context) (conn *net.UnixConn, err error) {
	if conn, err = dial(s.Place.socket()); err == nil {
		return conn, nil
	}
	if err := os.MkdirAll(s.Place.dir, 0o700); err != nil {
		return nil, fmt.Errorf("making the directory for the server's socket (choose another with --data-dir): %w", err)
	}
	lock := flock.New(s.Place.lock())
	ctx, cancel := context.WithTimeout(ctx, 2*startPatience)
	defer cancel()
	if _, err := lock.TryLockContext(ctx, 20*time.Millisecond); err != nil {
		return nil, fmt.Errorf("waiting for another start of a server: %w", err)
	}
	defer func() { _ = lock.Close() }()
	if conn, err = dial(s.Place.socket()); err == nil { // another one has started it
		return conn, nil
	}
	if err := s.start(ctx); err != nil {
		return nil, err
	}
	return dial(s.Place.socket())
}

// start returns when the server accepts connections. The caller has the lock.
func (s Starter) start(ctx context.Context) error {
	log, err := s.newLog()
	if err != nil {
		return err
	}
	defer func() { _ = log.Close() }()
	ctx, cancel := context.WithTimeout(ctx, startPatience)
	defer cancel()
	// The server has the write end of this pipe as its standard output: a line says
	// that it is ready, the end without one that it has failed.
	ready, theirs, err := os.Pipe()
	if err != nil {
		return err
	}
	defer func() { _ = ready.Close() }()
	cmd := exec.CommandContext(ctx, s.Launch[0], append(s.Launch[1:len(s.Launch):len(s.Launch)], log.Name())...)
	cmd.Stdout, cmd.Stderr = theirs, log
	err = cmd.Run()
	_ = theirs.Close()
	if err != nil {
		return failed(log.Name(), err)
	}
	defer context.AfterFunc(ctx, func() { _ = ready.SetReadDeadline(time.Now()) })()
	_, err = bufio.NewReader(ready).ReadString('\n')
	switch {
	case errors.Is(err, os.ErrDeadlineExceeded):
		return failed(log.Name(), fmt.Errorf("it was not ready within %s", startPatience))
	case err != nil:
		return failed(log.Name(), errors.New("it ended"))
	}
	return nil
}

// newLog makes the file that the server logs to and removes those of servers
// that have failed.
func (s Starter) newLog() (*os.File, error) {
	old, _ := filepath.Glob(filepath.Join(escapeGlob(s.Place.dir), s.Place.key+"-*.log"))
	for _, path := range old {
		_ = os.Remove(path) // an older server that still ends goes on writing
	}
	log, err := os.CreateTemp(s.Place.dir, s.Place.key+"-*.log")
	if err != nil {
		return nil, fmt.Errorf("making the log of the server: %w", err)
	}
	_ = log.Close()
	// To append: the server and what it starts write to it side by side.
	return os.OpenFile(log.Name(), os.O_APPEND|os.O_WRONLY, 0o600)
}

// failed says why there is no server, by the last lines of its log.
func failed(path string, err error) error {
	const most = 4 << 10         // bytes, as a line may be of any length
	text, _ := os.ReadFile(path) // what can be read
	text = text[max(0, len(text)-most):]
	lines := strings.Split(strings.TrimSpace(string(text)), "\n")
	last := strings.Join(lines[max(0, len(lines)-10):], "\n")
	return fmt.Errorf("the server could not be started: %w; it said:\n%s", err, cmp.Or(last, "nothing"))
}

// Launch starts the background server by the given command line and does not
// wait for it: a client that ends its server ends the processes below it, to
// which the background server must not belong.
func Launch(command []string) error {
	cmd := exec.Command(command[0], command[1:]...)
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	detach(cmd)
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("starting the server: %w", err)
	}
	return cmd.Process.Release()
}

// Ready tells who started this server, by what was its standard output, that it
// accepts connections.
func Ready(out *os.File) {
	_, _ = out.WriteString("ready\n") // who has gone meanwhile needs no answer
	_ = out.Close()
}

// maxLog is how large the log of a background server becomes.
const maxLog = 1 << 20

// Log bounds what a background server writes to its log: a file that is too long
// is begun anew.
func Log(file *os.File) io.Writer { return boundedLog{file} }

type boundedLog struct{ file *os.File }

func (l boundedLog) Write(line []byte) (int, error) {
	if info, err := l.file.Stat(); err == nil && info.Mode().IsRegular() && info.Size() > maxLog {
		_ = l.file.Truncate(0) // it is open to append
	}
	return l.file.Write(line)
}
