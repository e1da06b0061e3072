package app

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"regexp"
	"strings"
	"sync/atomic"
	"time"

	"understudy/internal/transport"
	"understudy/sessions"
	"understudy/tools"
)

// calls writes one line of log for each call of a tool, and counts it. What was
// said, code and output, is in neither.
type calls struct {
	log   *slog.Logger
	level slog.Level
	count func(tool, operation, outcome string, took time.Duration) // nil: nobody counts
	last  atomic.Uint64                                             // numbers requests that have no name
}

// newCalls returns what tells of calls. On stdio the client knows them, and the
// server's log is in its user's way.
func (a *App) newCalls() *calls {
	c := &calls{log: a.log, level: slog.LevelDebug, count: a.metrics.Call}
	if a.config.Serve.OverNetwork() {
		c.level = slog.LevelInfo
	}
	return c
}

func (c *calls) tell(ctx context.Context, call tools.Call) {
	if c.count != nil {
		c.count(call.Tool, call.Operation, call.Outcome, call.Took)
	}
	if !c.log.Enabled(ctx, c.level) {
		return
	}
	caller := transport.CallerFrom(ctx)
	if caller.Request == "" {
		caller.Request = fmt.Sprint(c.last.Add(1))
	}
	line := []any{"request", caller.Request, "client", nameOf(caller), "tool", call.Tool, "operation", call.Operation}
	if id := loggable(call.InterpreterID); id != "" {
		line = append(line, "interpreter_id", id)
	}
	if call.Execution > 0 {
		line = append(line, "execution", call.Execution)
	}
	c.log.Log(ctx, c.level, "call", append(line, "outcome", call.Outcome, "seconds", rounded(call.Took))...)
}

// read tells of a read of a resource, as of a call.
func (c *calls) read(ctx context.Context, uri string, err error, took time.Duration) {
	const mostOfURI = 200 // characters
	if !c.log.Enabled(ctx, c.level) {
		return
	}
	caller := transport.CallerFrom(ctx)
	c.log.Log(ctx, c.level, "read", "request", caller.Request, "client", nameOf(caller),
		"uri", shortened(uri, mostOfURI), "outcome", outcomeOf(err), "seconds", rounded(took))
}

// outcomeOf is what a read came to, in the words of calls.
func outcomeOf(err error) string {
	switch code := sessions.CodeOf(err); {
	case err == nil:
		return string(sessions.StatusOK)
	case code != "":
		return string(code)
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return "cancelled"
	}
	return "fault"
}

// nameOf is the caller in a log: a principal by its name, an MCP session, whose
// id is a key to it, by a part of its hash.
func nameOf(c transport.Caller) string {
	switch {
	case c.Principal != "":
		return c.Principal
	case c.Client == "":
		return "anonymous"
	}
	kind, id, isSession := strings.Cut(c.Client, ":")
	if !isSession {
		return kind
	}
	hash := sha256.Sum256([]byte(id))
	return kind + "-" + hex.EncodeToString(hash[:6])
}

// rounded is a time in seconds, in steps that a log has use for.
func rounded(d time.Duration) float64 { return d.Round(10 * time.Microsecond).Seconds() }

// interpreterID is how ids and names of interpreters look.
var interpreterID = regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9_.-]{0,96}$`)

// loggable is an id that a client sent, which may be megabytes of anything. One
// that can't be ours is cut: it shows what was mistaken for an id.
func loggable(id string) string {
	const most = 16 // characters
	if interpreterID.MatchString(id) {
		return id
	}
	return shortened(id, most)
}

// shortened is a text of at most so many characters.
func shortened(text string, most int) string {
	characters := 0
	for i := range text {
		if characters++; characters > most {
			return text[:i] + "…"
		}
	}
	return text
}
