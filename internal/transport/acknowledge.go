package transport

import (
	"context"
	"time"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"
)

// acknowledging bounds how long a request that listens waits for its
// acknowledgement to be written.
const acknowledging = 10 * time.Second

// listeningSession is the session of a request that listens. mcp-go acknowledges
// such a request by a notification; when there is nothing to listen to it
// answers at once, and then may lose the notification, which must come first.
// This session holds the answer back until it has.
type listeningSession struct {
	listenSession
	ctx      context.Context // of the request
	response *responder
	isSet    bool // the filter, and so only its end is left
}

// listenSession is what mcp-go's session can do in a request that listens.
type listenSession interface {
	httpSession
	server.SessionWithSubscriptionFilter
}

// SetSubscriptionFilter is called twice: with what the request listens to, and
// with nothing at its end.
func (s *listeningSession) SetSubscriptionFilter(filter mcp.SubscriptionFilter) {
	s.listenSession.SetSubscriptionFilter(filter)
	if !s.isSet {
		s.isSet = true
		return
	}
	timer := time.NewTimer(acknowledging)
	defer timer.Stop()
	select {
	case <-s.response.begun:
	case <-s.ctx.Done():
	case <-timer.C:
	}
}

type listeningKey struct{}

// withAcknowledgement gives the request of ctx its session if it listens.
func (h *HTTP) withAcknowledgement(ctx context.Context, session server.ClientSession) context.Context {
	w, _ := ctx.Value(listeningKey{}).(*responder)
	full, ok := session.(listenSession)
	if w == nil || !ok {
		return ctx
	}
	return h.mcp.WithContext(ctx, &listeningSession{listenSession: full, ctx: ctx, response: w})
}
