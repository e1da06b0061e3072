package upstream

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/mark3labs/mcp-go/client"
	"github.com/mark3labs/mcp-go/client/transport"
	"github.com/mark3labs/mcp-go/mcp"

	"understudy/sessions"
)

const (
	// startLimit is how long a server may take to begin, and to list its tools; a call
	// waits as long for one that begins.
	startLimit = 30 * time.Second
	// firstPause is before a server that has ended begins again; it doubles up to
	// longestPause until one has lived for healthy.
	firstPause   = time.Second
	longestPause = time.Minute
	healthy      = time.Minute
	// listPause is between two looks at a list that changes.
	listPause = time.Second
)

// A server is an upstream server: connected to, watched, begun again.
type server struct {
	entry
	module  string
	options Options
	log     *slog.Logger
	changed func() // its state is another one

	legacy bool // of the next attempt: some end at the first word of the newer protocol
	sse    bool // it turned out to speak that

	mu           sync.Mutex
	state        string
	problem      string
	again        time.Time // when it is begun again
	link         link
	client       *client.Client
	about        string // its title
	instructions string
	tools        []*tool
	listed       string        // what of them is left out
	turned       chan struct{} // closed and replaced at every change
}

// The states of servers.
const (
	stateReady    = "ready"
	stateStarting = "starting"
	stateFailed   = "failed"
	stateDisabled = "disabled"
)

// run keeps the server connected until ctx ends.
func (s *server) run(ctx context.Context) {
	pause := firstPause
	for {
		began := time.Now()
		wasReady, err := s.serve(ctx)
		if ctx.Err() != nil {
			return
		}
		if wasReady && time.Since(began) > healthy {
			pause = firstPause
		}
		s.failed(err, wasReady, pause)
		if !sleep(ctx, pause) {
			return
		}
		pause = min(2*pause, longestPause)
	}
}

// failed records why the server is gone. One that was ready and is soon back is starting:
// calls wait for it.
func (s *server) failed(err error, wasReady bool, pause time.Duration) {
	problem := s.secrets.tell(err.Error(), 600)
	s.log.Warn("an MCP server is not there", "server", s.name, "problem", problem, "again_in", pause)
	s.turn(func() {
		s.client, s.link, s.problem, s.again = nil, nil, problem, time.Now().Add(pause)
		if s.state = stateFailed; wasReady && pause < startLimit {
			s.state = stateStarting
		}
	})
}

// turn changes the state and tells all who wait for that.
func (s *server) turn(change func()) {
	s.mu.Lock()
	change()
	close(s.turned)
	s.turned = make(chan struct{})
	s.mu.Unlock()
	s.changed()
}

// serve connects, and keeps the list of tools until the connection ends.
func (s *server) serve(ctx context.Context) (wasReady bool, err error) {
	l, err := s.dial()
	if err != nil {
		return false, err
	}
	ctx, cancel := context.WithCancel(ctx)
	var listening sync.WaitGroup
	defer func() {
		cancel()
		listening.Wait() // it takes leave of the server
		_ = l.Close()
	}()
	listChanged := make(chan struct{}, 1)
	// After mcp-go's five seconds a server that takes longer to start is spoken to in the
	// older era, which one that has heard the question for the newer one refuses.
	options := []client.ClientOption{client.WithDiscoverTimeout(startLimit / 2)}
	if s.options.Meta != nil {
		options = append(options, client.WithMetaPropagator(s.options.Meta))
	}
	if s.legacy {
		options = append(options, client.WithLegacyProtocolOnly()) //nolint:staticcheck // for servers of that time
	}
	c := client.NewClient(l, options...)
	c.OnNotification(func(n mcp.JSONRPCNotification) {
		if n.Method == string(mcp.MethodNotificationToolsListChanged) {
			signal(listChanged)
		}
	})
	greeting, err := s.greet(ctx, l, c)
	if err != nil {
		return false, err
	}
	if err := s.list(ctx, c, greeting.Capabilities.Tools != nil); err != nil {
		return false, cmp.Or(l.Reason(), err)
	}
	s.turn(func() {
		s.client, s.link, s.state, s.problem = c, l, stateReady, s.listed
		s.about = greeting.ServerInfo.Title
		s.instructions = clip(greeting.Instructions, 20_000)
	})
	s.log.Info("an MCP server is ready", "server", s.name, "tools", len(s.tools), "protocol", greeting.ProtocolVersion)
	if mcp.IsModernProtocol(greeting.ProtocolVersion) && greeting.Capabilities.Tools != nil && greeting.Capabilities.Tools.ListChanged {
		listening.Go(func() { s.listen(ctx, c, listChanged) })
	}
	return true, s.follow(ctx, l, c, listChanged)
}

func signal(to chan struct{}) {
	select {
	case to <- struct{}{}:
	default:
	}
}

// dial makes the link.
func (s *server) dial() (link, error) {
	if s.kind != "stdio" {
		return newHTTPLink(s.entry, s.sse || s.kind == "sse")
	}
	p, err := startProcess(s.entry, s.options.Workdir, s.log)
	if err != nil {
		return nil, err
	}
	return newStdioLink(p), nil
}

// greet does what the protocol has before all else.
func (s *server) greet(ctx context.Context, l link, c *client.Client) (*mcp.InitializeResult, error) {
	begin, done := context.WithTimeout(ctx, startLimit)
	defer done()
	// The stream of SSE lives as long as the context that it was begun with.
	err := c.Start(ctx)
	var greeting *mcp.InitializeResult
	if err == nil {
		request := mcp.InitializeRequest{}
		request.Params.ClientInfo = mcp.Implementation{Name: "understudy", Version: cmp.Or(s.options.Version, "unknown")}
		greeting, err = c.Initialize(begin, request)
	}
	switch {
	case err == nil:
		return greeting, nil
	case errors.Is(err, transport.ErrLegacySSEServer) && s.kind == "":
		s.sse = true
		return nil, errors.New("it does not speak streamable HTTP; SSE is tried next")
	case l.Reason() != nil:
		s.legacy = !s.legacy
		return nil, l.Reason()
	case begin.Err() != nil:
		s.legacy = !s.legacy
		return nil, fmt.Errorf("it did not answer initialize within %s", startLimit)
	default:
		return nil, err
	}
}

// listen asks a server of the newer protocol to tell of changes. What was changed while
// it did not is looked up.
func (s *server) listen(ctx context.Context, c *client.Client, listChanged chan struct{}) {
	for pause := firstPause; ; pause = min(2*pause, longestPause) {
		began := time.Now()
		_ = c.Listen(ctx, mcp.SubscriptionFilter{ToolsListChanged: true}) // why it ended is no matter
		if time.Since(began) > healthy {
			pause = firstPause
		}
		if !sleep(ctx, pause) {
			return
		}
		signal(listChanged)
	}
}

// sleep reports whether ctx lasted as long.
func sleep(ctx context.Context, pause time.Duration) bool {
	timer := time.NewTimer(pause)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-timer.C:
		return true
	}
}

// follow lists the tools anew when they have changed, at most once a second, and
// returns when the connection ends.
func (s *server) follow(ctx context.Context, l link, c *client.Client, listChanged chan struct{}) error {
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-l.Ended():
			return l.Reason()
		case <-listChanged:
		}
		if err := s.list(ctx, c, true); ctx.Err() != nil {
			return ctx.Err()
		} else if err != nil {
			s.log.Warn("the tools of an MCP server can't be listed anew", "server", s.name, "error", s.secrets.tell(err.Error(), 600))
		} else {
			s.turn(func() { s.problem = s.listed })
		}
		sleep(ctx, listPause)
	}
}

// ready returns the client of the server when it is connected, and waits for one that
// is starting.
func (s *server) ready(ctx context.Context) (*client.Client, error) {
	ctx, done := context.WithTimeoutCause(ctx, startLimit, errStarting)
	defer done()
	for {
		s.mu.Lock()
		c, state, problem, again, turned := s.client, s.state, s.problem, s.again, s.turned
		gone := s.link == nil || s.link.Reason() != nil
		s.mu.Unlock()
		switch {
		case state == stateDisabled:
			return nil, refuse(sessions.RefusedUnavailable, "the MCP server %s is disabled in the file of --mcp", s.name)
		case state == stateFailed:
			return nil, refuse(sessions.RefusedUnavailable, "the MCP server %s is not available: %s; it is tried again in %d seconds",
				s.name, problem, 1+int(max(0, time.Until(again)).Seconds()))
		case state == stateReady && !gone:
			return c, nil
		}
		select {
		case <-turned:
		case <-ctx.Done():
			if errors.Is(context.Cause(ctx), errStarting) {
				return nil, refuse(sessions.RefusedUnavailable, "the MCP server %s is still starting; call again later", s.name)
			}
			return nil, cancelled()
		}
	}
}

var errStarting = errors.New("still starting")

func refuse(kind sessions.RefusalKind, format string, args ...any) *sessions.ToolRefusal {
	return &sessions.ToolRefusal{Kind: kind, Message: fmt.Sprintf(format, args...)}
}

func cancelled() *sessions.ToolRefusal {
	return refuse(sessions.RefusedCancelled, "the call was given up, because the code that made it has ended or was interrupted")
}
