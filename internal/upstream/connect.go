package upstream

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"time"

	"github.com/mark3labs/mcp-go/client"
	"github.com/mark3labs/mcp-go/client/transport"
	"github.com/mark3labs/mcp-go/mcp"
)

// mostMessage is how many bytes one message of a server's may have.
const mostMessage = 32 << 20

// errTooLarge says that a server sent more than that.
var errTooLarge = fmt.Errorf("it sent a message of more than %d MB", mostMessage>>20)

// connection is a client that has been introduced to its server.
type connection struct {
	client   *client.Client
	lost     chan error    // why it is of no use any more
	changed  chan struct{} // the tools are others
	tooLarge atomic.Bool   // a message was, which ended it
	end      func()
}

// fail says that the connection is of no use.
func (c *connection) fail(err error) {
	select {
	case c.lost <- err:
	default:
	}
}

func (c *connection) close() { c.end() }

// connect makes a connection and shakes hands.
func (s *server) connect(life context.Context) (_ *connection, err error) {
	c := &connection{lost: make(chan error, 1), changed: make(chan struct{}, 1)}
	life, endLife := context.WithCancel(life)
	var endProcess func()
	to, err := s.transport(c, &endProcess)
	if err != nil {
		endLife()
		return nil, err
	}
	var options []client.ClientOption
	if s.options.Meta != nil {
		options = append(options, client.WithMetaPropagator(s.options.Meta))
	}
	c.client = client.NewClient(to, options...)
	c.end = func() {
		endLife()
		_ = c.client.Close()
		if endProcess != nil {
			endProcess()
		}
	}
	ctx, cancel := context.WithTimeoutCause(life, startTime, fmt.Errorf("it did not answer within %s", startTime))
	defer cancel()
	said, err := s.introduce(ctx, life, c)
	if err != nil {
		err = because(ctx, err)
		select { // its end tells more than the broken connection
		case why := <-c.lost:
			err = why
		default:
		}
		c.end()
		return nil, err
	}
	s.mu.Lock()
	s.about, s.advice = said.ServerInfo.Title, clip(said.Instructions, 2000)
	s.mu.Unlock()
	return c, nil
}

func (s *server) introduce(ctx, life context.Context, c *connection) (*mcp.InitializeResult, error) {
	if err := c.client.Start(life); err != nil {
		return nil, err
	}
	c.client.OnConnectionLost(c.fail)
	c.client.OnNotification(func(n mcp.JSONRPCNotification) {
		if n.Method == string(mcp.MethodNotificationToolsListChanged) {
			select {
			case c.changed <- struct{}{}:
			default:
			}
		}
	})
	request := mcp.InitializeRequest{}
	request.Params.ClientInfo = mcp.Implementation{Name: "understudy", Version: "1"}
	said, err := c.client.Initialize(ctx, request)
	if err != nil {
		return nil, err
	}
	if mcp.IsModernProtocol(said.ProtocolVersion) && said.Capabilities.Tools != nil && said.Capabilities.Tools.ListChanged {
		go c.listen(life)
	}
	return said, nil
}

// listen hears of changes in the newest era, where they have to be asked for. What was
// missed while nobody listened is fetched.
func (c *connection) listen(life context.Context) {
	for life.Err() == nil {
		_ = c.client.Listen(life, mcp.SubscriptionFilter{ToolsListChanged: true})
		select {
		case <-time.After(mostPause):
		case <-life.Done():
			return
		}
		select {
		case c.changed <- struct{}{}:
		default:
		}
	}
}

// transport is the way to the server. A process that it starts is ended by *endProcess.
func (s *server) transport(c *connection, endProcess *func()) (transport.Interface, error) {
	bounded := &http.Client{Transport: &bounding{http.DefaultTransport.(*http.Transport).Clone(), c}}
	switch s.definition.transport {
	case overHTTP:
		return transport.NewStreamableHTTP(s.url, transport.WithHTTPBasicClient(bounded), transport.WithHTTPHeaders(s.headers), transport.WithHTTPLogger(s.log))
	case overSSE:
		return transport.NewSSE(s.url, transport.WithHTTPClient(bounded), transport.WithHeaders(s.headers), transport.WithSSELogger(s.log))
	}
	p, err := s.start(c)
	if err != nil {
		return nil, err
	}
	*endProcess = p.end
	stdio := transport.NewIO(&boundedReader{from: p.stdout, c: c, left: mostMessage}, p.stdin, io.NopCloser(strings.NewReader("")))
	transport.WithCommandLogger(s.log)(stdio)
	return stdio, nil
}

// bounding bounds the messages that come over HTTP.
type bounding struct {
	http.RoundTripper
	c *connection
}

func (b *bounding) RoundTrip(r *http.Request) (*http.Response, error) {
	answer, err := b.RoundTripper.RoundTrip(r)
	if err != nil {
		return nil, err
	}
	lines := strings.HasPrefix(answer.Header.Get("Content-Type"), "text/event-stream")
	answer.Body = &boundedReader{from: answer.Body, c: b.c, left: mostMessage, whole: !lines}
	return answer, nil
}

// boundedReader fails when a line, or the whole, is larger than a message may be.
type boundedReader struct {
	from  io.ReadCloser
	c     *connection
	left  int
	whole bool
}

func (b *boundedReader) Read(p []byte) (int, error) {
	n, err := b.from.Read(p)
	b.left -= n
	if i := strings.LastIndexByte(string(p[:n]), '\n'); i >= 0 && !b.whole {
		b.left = mostMessage - (n - i - 1)
	}
	if b.left < 0 {
		b.c.tooLarge.Store(true)
		b.c.fail(errTooLarge)
		return 0, errTooLarge
	}
	return n, err
}

func (b *boundedReader) Close() error { return b.from.Close() }

// lostBy reports whether an error of a request says that the connection is gone, and not
// that the server has answered with an error.
func lostBy(err error) bool {
	var broken *transport.Error
	return errors.As(err, &broken)
}
