package upstream

import (
	"context"
	"encoding/json"
	"errors"

	"github.com/mark3labs/mcp-go/client/transport"
)

// messageLimit is how long a message of a server may be: 32 MiB, which an answer may
// have, and some more for what is around it.
const messageLimit = 32<<20 + 64<<10

// errTooLong says that a message was longer.
var errTooLong = errors.New("the answer is longer than 32 MiB")

// A link is one connection to a server. mcp-go's client speaks the protocol over it.
type link interface {
	transport.Interface
	// Ended is closed when the connection is of no more use; Reason says why.
	Ended() <-chan struct{}
	Reason() error
}

// An ending is the end that a link has once.
type ending struct {
	ctx context.Context // ended with the reason
	end context.CancelCauseFunc
}

func newEnding() ending {
	ctx, end := context.WithCancelCause(context.Background())
	return ending{ctx, end}
}

func (e ending) Ended() <-chan struct{} { return e.ctx.Done() }

// Reason is nil before the end.
func (e ending) Reason() error { return context.Cause(e.ctx) }

// rawKey is the key of a context for where the result of its request is wanted.
type rawKey struct{}

// wantRaw has the result of a request put where raw points to, as the server wrote it:
// mcp-go's own types lose the digits of long integers, and refuse a whole list for
// one broken tool.
func wantRaw(ctx context.Context, raw *json.RawMessage) context.Context {
	return context.WithValue(ctx, rawKey{}, raw)
}

// keepRaw does that, and leaves to mcp-go's client a result that it can read, which is
// the server's own where the client learns from it.
func keepRaw(ctx context.Context, response *transport.JSONRPCResponse, learn bool) {
	raw, wanted := ctx.Value(rawKey{}).(*json.RawMessage)
	if !wanted || response.Error != nil {
		return
	}
	*raw = response.Result
	if !learn {
		response.Result = json.RawMessage(`{"content":[],"contents":[],"tools":[]}`)
	}
}
