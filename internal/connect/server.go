package connect

import (
	"bufio"
	"context"
	"crypto/subtle"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"sync"
	"time"
)

// Options say what a Server is to its peers.
type Options struct {
	// About is what every peer is told, but for the number of clients.
	About About
	// Token is the socket's: who doesn't know it is told nothing. It must not be empty.
	Token string
	// Clients takes clients too. Without it only the operator may come.
	Clients bool
	// Serve speaks MCP on a connection, as the client of that name, until the
	// connection or ctx ends.
	Serve func(ctx context.Context, in io.Reader, out io.Writer, client string) error
	// OperatorName is the name that Serve gets for the operator.
	OperatorName string
	// Usage counts the interpreters, and those that run code.
	Usage func() (interpreters, running int)
	// IdleExit ends a server that has no connection and runs nothing for so long;
	// 0 never does.
	IdleExit time.Duration
	Logger   *slog.Logger
}

// Server takes the connections to one server's socket.
type Server struct {
	options Options
	over    chan struct{} // closed when the server is to end for a reason of its own
	end     func()
	told    sync.Once // that somebody came without the token

	mu      sync.Mutex
	conns   int                     // how many are open
	clients int                     // how many of them are clients'
	slots   map[string]map[int]bool // the numbers that are taken, by the name of the program
	retired bool                    // no connection is taken any more
}

// NewServer returns a Server; Run runs it.
func NewServer(o Options) *Server {
	s := &Server{options: o, over: make(chan struct{}), slots: map[string]map[int]bool{}}
	s.end = sync.OnceFunc(func() { close(s.over) })
	return s
}

// Over is closed when the server is to end because nobody needs it any more.
func (s *Server) Over() <-chan struct{} { return s.over }

// Run takes connections until ctx ends or the server is over. All connections
// have ended when it returns.
func (s *Server) Run(ctx context.Context, l net.Listener) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var tasks sync.WaitGroup
	if s.options.IdleExit > 0 {
		tasks.Go(func() { s.watchIdle(ctx) })
	}
	tasks.Go(func() {
		select {
		case <-ctx.Done():
		case <-s.over:
			cancel()
		}
		s.mu.Lock()
		s.retired = true // who comes this moment finds that it ends, and starts another
		s.mu.Unlock()
		_ = l.Close() // ends Accept
	})
	var err error
	for {
		conn, failed := l.Accept()
		if failed != nil {
			if ctx.Err() == nil {
				err = fmt.Errorf("the socket for connect and attach: %w", failed)
			}
			break
		}
		tasks.Go(func() { s.take(ctx, conn) })
	}
	cancel()
	tasks.Wait()
	return err
}

// take serves one connection.
func (s *Server) take(ctx context.Context, conn net.Conn) {
	defer func() { _ = conn.Close() }()
	if !s.enter() {
		return
	}
	defer s.leave()
	in := bufio.NewReaderSize(conn, maxHello)
	var h Hello
	heard := context.AfterFunc(ctx, func() { _ = conn.Close() }) // who is silent is not waited for
	err := hear(in, &h)
	heard()
	if err != nil {
		if !errors.Is(err, errEnded) {
			s.options.Logger.Warn("a connection to the socket was refused", "error", err)
		}
		return
	}
	client, about, free := s.admit(h)
	defer free()
	if err := say(conn, about); err != nil || client == "" {
		return
	}
	s.options.Logger.Debug("connected", "client", client)
	err = s.options.Serve(ctx, in, conn, client)
	s.options.Logger.Debug("disconnected", "client", client, "error", err)
}

// enter counts a connection; false when none is taken any more.
func (s *Server) enter() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.retired {
		return false
	}
	s.conns++
	return true
}

func (s *Server) leave() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.conns--
}

// admit decides who a connection is. Without a client it is to end once the
// answer is sent. free is called when the connection has ended.
func (s *Server) admit(h Hello) (client string, about About, free func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	about, free = s.options.About, func() {}
	about.Protocol, about.Clients = protocol, s.clients
	switch {
	case h.Protocol != protocol:
		return "", refuse("the running server (%s, process %d) is of another version of understudy and can't be spoken with; end it, and start your client again", about.Build, about.PID), free
	case !s.knowsToken(h):
		s.told.Do(func() {
			s.options.Logger.Warn("a connection without the token of the server's socket was refused; this is not told again")
		})
		return "", refuse("the token is missing or wrong: it is in the file beside the server's socket, which only the server's user can read, and code in a sandbox can't"), free
	case h.Role == RoleLook:
	case h.Role == RoleOperator:
		client = s.options.OperatorName
	case h.Role != RoleClient:
		about.Refusal = fmt.Sprintf("nobody can connect as %q", h.Role)
	case !s.options.Clients:
		about.Refusal = "this server takes no clients by its socket"
	case h.Build != about.Build && s.isUnused():
		s.retired, about.Retiring = true, true
		free = s.end // once it is said
	default:
		client, free = s.clientOf(h)
	}
	return client, about, free
}

func refuse(format string, args ...any) About {
	return About{Protocol: protocol, Refusal: fmt.Sprintf(format, args...)}
}

func (s *Server) knowsToken(h Hello) bool {
	token := s.options.Token
	return token != "" && subtle.ConstantTimeCompare([]byte(h.Token), []byte(token)) == 1
}

// isUnused reports whether one connection is all there is: nothing is lost when
// the server ends. The caller holds mu.
func (s *Server) isUnused() bool {
	interpreters, _ := s.options.Usage()
	return s.conns == 1 && interpreters == 0
}

// clientOf names the client of a connection. One with a name for sharing is that;
// any other takes the lowest number that is free among its program's connections,
// so that a program that is started again has its interpreters back, and two that
// run at once never share any. The caller holds mu.
func (s *Server) clientOf(h Hello) (client string, free func()) {
	s.clients++
	if h.Share != "" {
		return SharedPrefix + h.Share, func() {
			s.mu.Lock()
			defer s.mu.Unlock()
			s.clients--
		}
	}
	name, slot := plainName(h.Name), 1
	if s.slots[name] == nil {
		s.slots[name] = map[int]bool{}
	}
	for s.slots[name][slot] {
		slot++
	}
	s.slots[name][slot] = true
	return fmt.Sprintf("%s%s:%d", ClientPrefix, name, slot), func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		delete(s.slots[name], slot)
		s.clients--
	}
}

// How the clients of connect are named. Both own their interpreters as principals
// do: while they are not connected nobody else gets them.
const (
	ClientPrefix = "connect:"
	SharedPrefix = "shared:"
)

// watchIdle ends the server when it has had no connection and has run nothing for
// IdleExit.
func (s *Server) watchIdle(ctx context.Context) {
	const often = 30 * time.Second
	ticker := time.NewTicker(min(often, max(s.options.IdleExit/10, time.Millisecond)))
	defer ticker.Stop()
	busy := time.Now()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		if s.isBusy() {
			busy = time.Now()
		} else if time.Since(busy) >= s.options.IdleExit && s.retire() {
			s.options.Logger.Info("nobody was connected and nothing ran", "for", s.options.IdleExit)
			s.end()
			return
		}
	}
}

func (s *Server) isBusy() bool {
	_, running := s.options.Usage()
	s.mu.Lock()
	defer s.mu.Unlock()
	return running > 0 || s.conns > 0
}

// retire takes no connection any more, unless one came this moment.
func (s *Server) retire() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.conns == 0 {
		s.retired = true // never false again: another build's client may have retired it
	}
	return s.conns == 0
}
