package worker

import (
	"context"
	"net"
	"os"
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
	needNamespaces(t)
	wall, behind := testWall(t, sandbox.Settings{Network: sandbox.Network{Hosts: []string{"example.com"}}})
	listeners := make(chan net.Listener, 1)
	z := testZygote(t, behind, func(o *Options) {
		o.Serve = func(_ string, l net.Listener) { listeners <- l }
		o.InitCode = "import socket; socket.create_connection(('127.0.0.1', 3128), 30).close()"
	})
	w := workertest.Start(t, walled{z, wall, t})
	said := w.Info().InitError
	expect(t, said == "", "%v", said)
	listener := <-listeners
	copied := func(purpose sessions.Purpose) sessions.Understudy {
		u, err := w.Fork(context.Background(), purpose)
		must(t, err)
		return u
	}
	unused, standby, aside := copied(sessions.ToBranch), copied(sessions.ToStandBy), copied(sessions.ToBranch)
	unused.Dismiss()
	w.Kill()
	follower := woken(t, standby, os.TempDir())
	for _, gone := range []sessions.Worker{w, follower} {
		fine(t, gone.Close(context.Background()))
	}
	branch := woken(t, aside, os.TempDir())
	expect(t, isOpen(t, listener), "a branch has lost its way out")
	workertest.Run(t, branch, "socket.create_connection(('127.0.0.1', 3128), 30).close()")
	fine(t, branch.Close(context.Background()))
	expect(t, !isOpen(t, listener), "the listener outlives its network")
}
