package upstream

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"mime"
	"net/http"
	"net/url"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/mark3labs/mcp-go/client/transport"
	"github.com/mark3labs/mcp-go/mcp"
)

// An httpLink reaches a server by URL: by streamable HTTP, or by SSE, which came before.
// It hides that mcp-go's transports could pass on requests of the server: they
// answer each in a goroutine of its own, without limit.
type httpLink struct {
	transport.HTTPConnection
	ending
	http   *http.Client
	sse    bool
	modern atomic.Bool
	ids    atomic.Int64
	notes  sync.WaitGroup // cancellations under way
}

func newHTTPLink(e entry, sse bool) (*httpLink, error) {
	base, err := url.Parse(e.url)
	if err != nil {
		return nil, errors.New("its URL can't be read")
	}
	inner := http.DefaultTransport.(*http.Transport).Clone()
	l := &httpLink{ending: newEnding(), sse: sse, http: &http.Client{
		Transport: &boundedTransport{inner: inner, host: base.Host, scheme: base.Scheme, headers: e.headers},
		CheckRedirect: func(request *http.Request, via []*http.Request) error {
			if request.URL.Host != base.Host || request.URL.Scheme != base.Scheme || len(via) > 5 {
				return errors.New("it redirects elsewhere; put the address it redirects to into the file of --mcp")
			}
			return nil
		},
	}}
	// What mcp-go logs is what its errors say, with URLs and their keys.
	quiet := slog.New(slog.DiscardHandler)
	if !sse {
		l.HTTPConnection, err = transport.NewStreamableHTTP(e.url, transport.WithHTTPBasicClient(l.http),
			transport.WithContinuousListening(), //nolint:staticcheck // for servers of that time
			transport.WithHTTPLogger(quiet))
		return l, err
	}
	// The end of a run ends a call; the transport's own limit would be shorter.
	const forever = 10 * 365 * 24 * time.Hour
	connection, err := transport.NewSSE(e.url, transport.WithHTTPClient(l.http), transport.WithSSELogger(quiet),
		transport.WithEndpointTimeout(startLimit), transport.WithResponseTimeout(forever))
	if err != nil {
		return nil, err
	}
	connection.SetConnectionLostHandler(func(err error) {
		reason := errors.New("it closed the connection")
		if errors.Is(err, errTooLong) {
			reason = err
		}
		l.end(reason)
		_ = connection.Close() // which answers those who wait
	})
	l.HTTPConnection = connection
	return l, nil
}

func (l *httpLink) SetProtocolVersion(version string) {
	l.modern.Store(mcp.IsModernProtocol(version))
	l.HTTPConnection.SetProtocolVersion(version)
}

func (l *httpLink) SendRequest(ctx context.Context, request transport.JSONRPCRequest) (*transport.JSONRPCResponse, error) {
	if l.sse {
		// mcp-go takes a request of the server's for the answer to ours of the same number.
		request.ID = mcp.NewRequestId(fmt.Sprintf("understudy-%d", l.ids.Add(1)))
	}
	var tooLong atomic.Bool
	sent, cancel := context.WithCancel(context.WithValue(ctx, tooLongKey{}, &tooLong))
	defer cancel()
	defer context.AfterFunc(l.ctx, cancel)()
	response, err := l.HTTPConnection.SendRequest(sent, request)
	var failed *url.Error
	begins := request.Method == string(mcp.MethodInitialize) || request.Method == string(mcp.MethodServerDiscover)
	switch {
	case tooLong.Load():
		return nil, errTooLong
	case err == nil:
		keepRaw(ctx, response, l.modern.Load() && request.Method == string(mcp.MethodToolsList))
	case ctx.Err() != nil:
		l.cancel(request)
	case l.Reason() != nil:
		err = l.Reason()
	case errors.As(err, &failed), errors.Is(err, transport.ErrSessionTerminated) && !begins:
		l.end(err)
	}
	return response, err
}

// cancel tells a server that a request is given up. With the newer protocol the end of the
// HTTP request says that, and another client's request of the same number might be
// meant; SSE has a session in both.
func (l *httpLink) cancel(request transport.JSONRPCRequest) {
	wanted := []mcp.MCPMethod{mcp.MethodToolsCall, mcp.MethodResourcesRead, mcp.MethodSubscriptionsListen}
	if l.modern.Load() && !l.sse || !slices.Contains(wanted, mcp.MCPMethod(request.Method)) {
		return
	}
	l.notes.Go(func() {
		ctx, done := context.WithTimeout(context.Background(), 5*time.Second)
		defer done()
		_ = l.SendNotification(ctx, mcp.JSONRPCNotification{JSONRPC: mcp.JSONRPC_VERSION, Notification: mcp.Notification{
			Method: string(mcp.MethodNotificationCancelled),
			Params: mcp.NotificationParams{AdditionalFields: map[string]any{"requestId": request.ID, "reason": "the code that called has ended"}},
		}})
	})
}

func (l *httpLink) Close() error {
	l.end(errors.New("the connection was closed"))
	l.notes.Wait()
	err := l.HTTPConnection.Close()
	l.http.CloseIdleConnections()
	return err
}

// A boundedTransport gives the file's headers to the server alone, and bounds what it
// sends: an answer as a whole, an endless stream by the event.
type boundedTransport struct {
	inner        *http.Transport
	host, scheme string
	headers      map[string]string
}

func (t *boundedTransport) RoundTrip(request *http.Request) (*http.Response, error) {
	if request.URL.Host == t.host && request.URL.Scheme == t.scheme && len(t.headers) > 0 {
		request = request.Clone(request.Context())
		for name, value := range t.headers {
			request.Header.Set(name, value)
			if http.CanonicalHeaderKey(name) == "Host" {
				request.Host = value
			}
		}
	}
	response, err := t.inner.RoundTrip(request)
	if err != nil {
		return nil, err
	}
	kind, _, _ := mime.ParseMediaType(response.Header.Get("Content-Type"))
	if response.StatusCode >= http.StatusBadRequest {
		// Of an error only the beginning is said.
		response.Body = struct {
			io.Reader
			io.Closer
		}{io.LimitReader(response.Body, 64<<10), response.Body}
		return response, nil
	}
	tooLong, _ := request.Context().Value(tooLongKey{}).(*atomic.Bool)
	response.Body = &boundedBody{ReadCloser: response.Body, stream: kind == "text/event-stream", left: messageLimit, tooLong: tooLong}
	return response, nil
}

func (t *boundedTransport) CloseIdleConnections() { t.inner.CloseIdleConnections() }

// tooLongKey is the key of a request's context for the flag that its answer was too long:
// mcp-go does not say so of one in events.
type tooLongKey struct{}

type boundedBody struct {
	io.ReadCloser
	stream  bool
	left    int
	line    bool         // something is on the line that was read last
	tooLong *atomic.Bool // set for who sent the request; nil where nobody asks
}

func (b *boundedBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if b.stream {
		b.countEvent(p[:n])
	} else {
		b.left -= n
	}
	if b.left < 0 {
		if b.tooLong != nil {
			b.tooLong.Store(true)
		}
		return 0, errTooLong
	}
	return n, err
}

// countEvent counts what was read of an event, which an empty line ends.
func (b *boundedBody) countEvent(data []byte) {
	for len(data) > 0 {
		end := bytes.IndexByte(data, '\n')
		if end < 0 {
			b.line = b.line || len(bytes.Trim(data, "\r")) > 0
			b.left -= len(data)
			return
		}
		if b.left -= end + 1; !b.line && len(bytes.Trim(data[:end], "\r")) == 0 && b.left >= 0 {
			b.left = messageLimit
		}
		b.line, data = false, data[end+1:]
	}
}
