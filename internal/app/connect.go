package app

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"os"
	"strings"

	"understudy/internal/config"
	"understudy/internal/connect"
	"understudy/internal/sandbox"
	"understudy/internal/transport"
	"understudy/sessions"
)

// SharedPlace is where the server for this directory and these settings is: one
// that was started for a project must not serve another with the wrong files, the
// wrong Python or the wrong rules.
func SharedPlace(c *config.Config) (connect.Place, error) {
	directory, err := os.Getwd()
	if err != nil {
		return connect.Place{}, fmt.Errorf("finding the working directory: %w", err)
	}
	settings := struct {
		Directory string
		Shared    config.Shared
		Serve     config.Serve
		// What an active environment is known by.
		VirtualEnv, CondaPrefix string
	}{directory, c.Shared, c.Serve, os.Getenv("VIRTUAL_ENV"), os.Getenv("CONDA_PREFIX")}
	text, err := json.Marshal(settings)
	if err != nil {
		return connect.Place{}, err
	}
	hash := sha256.Sum256(text)
	return connect.PlaceOf(c.DataDir, hex.EncodeToString(hash[:8])), nil
}

// Build tells one program from another of the same version, as while it is being
// developed.
func Build() string {
	self, err := os.Executable()
	if err != nil {
		return Version()
	}
	info, err := os.Stat(self)
	if err != nil {
		return Version()
	}
	return fmt.Sprintf("%s of %s", Version(), info.ModTime().UTC().Format("2006-01-02 15:04:05"))
}

// shared is the background server's socket, before there is a server behind it.
type shared struct {
	config   *config.Config
	listener *connect.Socket
	out      *os.File // where who started it waits to hear that it is ready
}

func openShared(ctx context.Context, c *config.Config, out *os.File) (*shared, error) {
	place, err := SharedPlace(c)
	if err != nil {
		return nil, err
	}
	listener, err := place.Listen(ctx)
	if err != nil {
		return nil, err
	}
	return &shared{c, listener, out}, nil
}

// close lets go of the socket, and of the log: what ended in good order needs none.
func (s *shared) close() {
	_ = s.listener.Close()
	_ = os.Remove(s.config.Connect.Background)
}

// serve answers clients until ctx ends or nobody has needed the server for long.
func (s *shared) serve(ctx context.Context, a *App) error {
	connect.Ready(s.out)
	server := a.newDoor("connect", s.listener.Token)
	return server.Run(ctx, a.keepCodeOut(s.listener))
}

// newDoor returns what takes connections to the server's socket, which must know its
// token: of clients, if it is one for connect, and of the operator.
func (a *App) newDoor(by, token string) *connect.Server {
	directory, _ := WorkingDirectory(a.config)
	o := connect.Options{
		About: connect.About{PID: os.Getpid(), Build: Build(), Directory: directory, Transport: by}, Token: token,
		Serve: a.serveLines, OperatorName: string(sessions.Operator),
		Usage: a.manager.Usage, Logger: a.log,
	}
	if a.config.Connect.IsServer() {
		o.Clients, o.IdleExit = true, a.config.Connect.IdleExit
	}
	return connect.NewServer(o)
}

// admitOperator lets attach in by a socket in the run's directory, until the
// function that it returns is called. A server that can't have one does without.
func (a *App) admitOperator(ctx context.Context) (end func()) {
	if a.config.Connect.IsServer() { // its own socket is for the operator too
		return func() {}
	}
	listener, err := connect.ListenAt(connect.DoorOf(a.run.dir))
	if err != nil {
		a.log.Warn("understudy attach can't reach this server", "error", err)
		return func() {}
	}
	ctx, cancel := context.WithCancel(ctx)
	ended := make(chan struct{})
	door := a.newDoor(strings.Join(a.config.Serve.Transport, ","), listener.Token)
	go func() {
		defer close(ended)
		if err := door.Run(ctx, a.keepCodeOut(listener)); err != nil {
			a.log.Warn("understudy attach can't reach this server any more", "error", err)
		}
	}()
	return func() {
		cancel()
		<-ended
	}
}

// serveLines speaks MCP on a connection to the server's socket.
func (a *App) serveLines(ctx context.Context, in io.Reader, out io.Writer, client string) error {
	return transport.ServeLines(ctx, a.server, in, out, transport.Caller{Client: client}, a.log)
}

// keepCodeOut keeps the code in the sandbox away from a socket.
func (a *App) keepCodeOut(l net.Listener) net.Listener {
	if a.config.Serve.SandboxMode() == config.SandboxOff {
		return l
	}
	return sandbox.RefuseSandboxed(l, a.log)
}
