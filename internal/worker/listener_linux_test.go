package worker

import (
	"context"
	"net"
	"os"
	"path/filepath"
	"testing"

	"understudy/internal/sandbox"
	"understudy/internal/worker/workertest"
	"understudy/sessions"
)

// isOpen reports whether a listener has its descriptor.
func isOpen(t *testing.T, l net.Listener) bool {
	t.Helper()
	raw, err := l.(*net.TCPListener).SyscallConn()
	return err == nil && raw.Control(func(uintptr) {}) == nil
}

// The way out is open from before the initial code to the end of the last who share the
// network: an original that ends, as in a restart, leaves it to its branches.
func TestListenersLiveAsLongAsTheirNetwork(t *testing.T) {
	library := filepath.Join(t.TempDir(), "lib")
	wall := testWall(t, sandbox.Settings{Network: sandbox.Network{Hosts: []string{"example.com"}}, Python: []string{library}})
	if host, _ := hostOf(); host.NoNamespaces != "" {
		t.Skip("there are no namespaces here: ", host.NoNamespaces)
	}
	listeners := make(chan net.Listener, 1)
	z := testZygote(t, func(o *Options) {
		o.LibraryDir, o.Wall = library, wall
		o.Serve = func(_ string, l net.Listener) { listeners <- l }
		o.InitCode = "import socket; socket.create_connection(('127.0.0.1', 3128), 30).close()"
	})
	w := workertest.Start(t, walled{z, wall, t})
	if said := w.Info().InitError; said != "" {
		t.Error(said)
	}
	listener := <-listeners
	copied := func(purpose sessions.Purpose) sessions.Understudy {
		u, err := w.Fork(context.Background(), purpose)
		if err != nil {
			t.Fatal(err)
		}
		return u
	}
	unused, standby, aside := copied(sessions.ToBranch), copied(sessions.ToStandBy), copied(sessions.ToBranch)
	unused.Dismiss()
	w.Kill()
	wake := func(u sessions.Understudy) sessions.Worker {
		woken, err := u.Wake(context.Background(), sessions.Spec{InterpreterID: "test", Workdir: os.TempDir(), FirstExecution: 2})
		if err != nil {
			t.Fatal(err)
		}
		return woken
	}
	follower := wake(standby)
	for _, gone := range []sessions.Worker{w, follower} {
		if err := gone.Close(context.Background()); err != nil {
			t.Error(err)
		}
	}
	branch := wake(aside)
	if !isOpen(t, listener) {
		t.Error("a branch has lost its way out")
	}
	workertest.Run(t, branch, "socket.create_connection(('127.0.0.1', 3128), 30).close()")
	if err := branch.Close(context.Background()); err != nil {
		t.Error(err)
	}
	if isOpen(t, listener) {
		t.Error("the listener outlives its network")
	}
}
