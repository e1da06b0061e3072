package tools

import (
	"context"
	"sync"
	"time"

	"github.com/mark3labs/mcp-go/mcp"

	"understudy/sessions"
)

// mostKnown bounds how many clients are remembered; then all are forgotten.
const mostKnown = 10_000

// beginnings remembers of each client whether it listed the tools before it first called
// one. Frameworks do, to show the tools to their model; programs on the bare SDK call
// first, and so does what opens a session for each call.
type beginnings struct {
	mu     sync.Mutex
	listed map[sessions.Client]bool
}

// note says what the client does, and returns what it did first.
func (b *beginnings) note(client sessions.Client, lists bool) (listedFirst bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if first, known := b.listed[client]; known {
		return first
	}
	if b.listed == nil || len(b.listed) >= mostKnown {
		b.listed = map[sessions.Client]bool{}
	}
	b.listed[client] = lists
	return lists
}

// noteList is told of each list of tools.
func (b *toolbox) noteList(ctx context.Context, _ any, _ *mcp.ListToolsRequest, _ *mcp.ListToolsResult) {
	b.beginnings.note(b.Client(ctx), true)
}

// patience is how long a call waits that wishes to wait as long as asked, 0 if it has no
// wish. A client that gives up early is answered before: its next call can go on waiting,
// and what it gave up on it would never see.
func (b *toolbox) patience(ctx context.Context, request mcp.CallToolRequest, asked time.Duration) time.Duration {
	f := b.answers.Profile(ctx, request)
	if f.Patience == 0 {
		return asked
	}
	client := b.Client(ctx)
	listedFirst := client == sessions.Anonymous || b.beginnings.note(client, false)
	meta := request.Params.Meta
	if asked > 0 || !listedFirst || meta != nil && meta.ProgressToken != nil {
		return asked
	}
	return min(f.Patience, b.DefaultWait)
}
