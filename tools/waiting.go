package tools

import (
	"context"
	"sync"
	"time"

	"github.com/mark3labs/mcp-go/mcp"

	"understudy/internal/phrase"
	"understudy/sessions"
)

const (
	// progressGap is the least time between two notifications.
	progressGap = 500 * time.Millisecond
	// settling is how long the answer holds back after a notification: one
	// that is sent right before the answer may be lost or arrive after it.
	settling = 50 * time.Millisecond
)

// progress tells a client that asked for it how its call gets on. A nil
// progress is that of a client that didn't.
type progress struct {
	notify func(params map[string]any)
	began  time.Time

	mu    sync.Mutex
	ended bool
	sent  time.Time // of the last notification
}

// progress returns the reporter for a call, nil when its client wants none.
func (b *toolbox) progress(ctx context.Context, request mcp.CallToolRequest) *progress {
	if request.Params.Meta == nil || request.Params.Meta.ProgressToken == nil {
		return nil
	}
	token := request.Params.Meta.ProgressToken
	return &progress{began: time.Now(), notify: func(params map[string]any) {
		params["progressToken"] = token
		if err := b.server.SendNotificationToClient(ctx, string(mcp.MethodNotificationProgress), params); err != nil {
			b.Logger.Debug("progress not sent", "error", err)
		}
	}}
}

// listener returns what the Manager is to call, nil when nobody listens.
func (p *progress) listener() func(sessions.Progress) {
	if p == nil {
		return nil
	}
	return p.report
}

// report tells the time since the call began, which never falls; that of the code begins
// anew when its turn has come.
func (p *progress) report(s sessions.Progress) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.ended || time.Since(p.sent) < progressGap {
		return
	}
	p.sent = time.Now()
	value := p.sent.Sub(p.began)
	params := map[string]any{"progress": value.Seconds(), "message": progressMessage(s)}
	if s.Limit > s.Elapsed {
		params["total"] = (value - s.Elapsed + s.Limit).Seconds()
	}
	p.notify(params)
}

func progressMessage(s sessions.Progress) string {
	elapsed := phrase.Duration(s.Elapsed.Truncate(time.Second))
	if s.Phase != "" {
		return s.Phase + ", " + elapsed + " so far"
	}
	if s.Queued {
		return "waiting for its turn, " + elapsed + " so far"
	}
	text := elapsed
	if s.Limit > 0 {
		text += " of " + phrase.Duration(s.Limit)
	}
	if s.LastLine != "" {
		text += ": " + s.LastLine
	}
	return text
}

// end silences the reporter, and lets the last notification go ahead of the answer.
func (p *progress) end(ctx context.Context) {
	if p == nil {
		return
	}
	p.mu.Lock()
	p.ended = true
	left := settling - time.Since(p.sent)
	p.mu.Unlock()
	select {
	case <-time.After(left): // at once where nothing is left
	case <-ctx.Done():
	}
}

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
