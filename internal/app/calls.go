package app

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"regexp"
	"sync/atomic"
	"time"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"

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

// note is what the Manager learns of a call, for the line of log.
type note struct {
	operation, interpreter, outcome string
	execution                       int
}

type noteKey struct{}

// The outcomes that are neither a status nor a code of sessions'.
const (
	outcomeOK        = string(sessions.StatusOK)
	outcomeInvalid   = string(sessions.CodeInvalid)
	outcomeCancelled = "cancelled"
	outcomeFault     = "fault"
)

// middleware is around every handler of a tool.
func (c *calls) middleware(next server.ToolHandlerFunc) server.ToolHandlerFunc {
	return func(ctx context.Context, request mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		began, n := time.Now(), &note{}
		result, err := next(context.WithValue(ctx, noteKey{}, n), request)
		c.tell(ctx, request.Params.Name, n, outcomeOf(n, result, err), time.Since(began))
		return result, err
	}
}

// outcomeOf is the Manager's word, or that of a handler that did not get so far.
func outcomeOf(n *note, result *mcp.CallToolResult, err error) string {
	switch {
	case n.outcome != "":
		return n.outcome
	case err != nil:
		return outcomeFault
	case result != nil && result.IsError:
		return outcomeInvalid
	}
	return outcomeOK
}

func (c *calls) tell(ctx context.Context, tool string, n *note, outcome string, took time.Duration) {
	if c.count != nil {
		c.count(tool, n.operation, outcome, took)
	}
	if !c.log.Enabled(ctx, c.level) {
		return
	}
	caller := transport.CallerFrom(ctx)
	if caller.Request == "" {
		caller.Request = fmt.Sprint(c.last.Add(1))
	}
	line := []any{"request", caller.Request, "client", nameOf(caller), "tool", tool, "operation", n.operation}
	if n.interpreter != "" {
		line = append(line, "interpreter_id", n.interpreter)
	}
	if n.execution > 0 {
		line = append(line, "execution", n.execution)
	}
	c.log.Log(ctx, c.level, "call", append(line, "outcome", outcome, "seconds", rounded(took))...)
}

// read tells of a read of a resource, as of a call.
func (c *calls) read(ctx context.Context, uri string, err error, took time.Duration) {
	if !c.log.Enabled(ctx, c.level) {
		return
	}
	n, caller := &note{}, transport.CallerFrom(ctx)
	n.end(err)
	c.log.Log(ctx, c.level, "read", "request", caller.Request, "client", nameOf(caller),
		"uri", shortened(uri, mostOfURI), "outcome", n.outcome, "seconds", rounded(took))
}

// rounded is a time in seconds, in steps that a log has use for.
func rounded(d time.Duration) float64 { return d.Round(10 * time.Microsecond).Seconds() }

// begin notes what is asked of the Manager. Until end the outcome is a fault,
// which stays when the Manager panics.
func begin(ctx context.Context, operation, interpreter string) *note {
	n, _ := ctx.Value(noteKey{}).(*note)
	if n == nil { // asked by somebody who is no tool
		n = &note{}
	}
	n.operation, n.interpreter, n.outcome = operation, loggable(interpreter), outcomeFault
	return n
}

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

// mostOfURI is how many characters of a resource's address are logged.
const mostOfURI = 200

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

// end notes what it came to.
func (n *note) end(err error) {
	switch code := sessions.CodeOf(err); {
	case err == nil:
		n.outcome = outcomeOK
	case code != "":
		n.outcome = string(code)
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		n.outcome = outcomeCancelled
	default:
		n.outcome = outcomeFault
	}
}

// ran notes how the run stands that was answered with.
func (n *note) ran(r *sessions.Result, err error) {
	n.end(err)
	if r != nil && err == nil {
		n.interpreter, n.execution, n.outcome = r.InterpreterID, r.Execution, string(r.Status)
	}
}

// made notes the interpreter that was answered with.
func (n *note) made(l sessions.Listing, err error) {
	n.end(err)
	if err == nil {
		n.interpreter = l.ID
	}
}

// noted is a Manager whose calls by the tools are noted. What tools don't ask
// for, it has from the Manager as it is.
type noted struct {
	*sessions.Manager
	asked tools.Manager // the same; another in tests
}

var _ tools.Manager = noted{}

func newNoted(m *sessions.Manager) noted { return noted{m, m} }

func (m noted) Run(ctx context.Context, client sessions.Client, r sessions.RunRequest) (result *sessions.Result, err error) {
	n := begin(ctx, "run", r.InterpreterID)
	result, err = m.asked.Run(ctx, client, r)
	n.ran(result, err)
	return result, err
}

func (m noted) Await(ctx context.Context, client sessions.Client, r sessions.WaitRequest) (result *sessions.Result, err error) {
	n := begin(ctx, "wait", r.InterpreterID)
	result, err = m.asked.Await(ctx, client, r)
	n.ran(result, err)
	return result, err
}

func (m noted) Show(ctx context.Context, client sessions.Client, id string) (listing sessions.Listing, err error) {
	n := begin(ctx, "list", id)
	listing, err = m.asked.Show(ctx, client, id)
	n.made(listing, err)
	return listing, err
}

func (m noted) Create(ctx context.Context, client sessions.Client, r sessions.CreateRequest) (listing sessions.Listing, err error) {
	n := begin(ctx, "create", "")
	listing, err = m.asked.Create(ctx, client, r)
	n.made(listing, err)
	return listing, err
}

func (m noted) List(ctx context.Context, client sessions.Client) (all []sessions.Listing, err error) {
	n := begin(ctx, "list", "")
	all, err = m.asked.List(ctx, client)
	n.end(err)
	return all, err
}

func (m noted) Delete(ctx context.Context, client sessions.Client, id string) error {
	n := begin(ctx, "delete", id)
	err := m.asked.Delete(ctx, client, id)
	n.end(err)
	return err
}

func (m noted) Restart(ctx context.Context, client sessions.Client, id string) (listing sessions.Listing, err error) {
	n := begin(ctx, "restart", id)
	listing, err = m.asked.Restart(ctx, client, id)
	n.made(listing, err)
	return listing, err
}

func (m noted) Interrupt(ctx context.Context, client sessions.Client, id string) (done *sessions.Interruption, err error) {
	n := begin(ctx, "interrupt", id)
	done, err = m.asked.Interrupt(ctx, client, id)
	n.end(err)
	if err == nil {
		n.interpreter, n.execution = done.InterpreterID, done.Execution
	}
	return done, err
}

func (m noted) Branch(ctx context.Context, client sessions.Client, id string) (listing sessions.Listing, err error) {
	n := begin(ctx, "branch", id)
	listing, err = m.asked.Branch(ctx, client, id)
	n.made(listing, err)
	return listing, err
}

func (m noted) Undo(ctx context.Context, client sessions.Client, id string) (undone *sessions.Undone, err error) {
	n := begin(ctx, "undo", id)
	undone, err = m.asked.Undo(ctx, client, id)
	n.end(err)
	return undone, err
}

func (m noted) Variables(ctx context.Context, client sessions.Client, id string) (names sessions.Namespace, notes []string, err error) {
	n := begin(ctx, "variables", id)
	names, notes, err = m.asked.Variables(ctx, client, id)
	n.end(err)
	return names, notes, err
}

func (m noted) SetVariables(ctx context.Context, client sessions.Client, id string, variables map[string]*string) (set *sessions.Setting, err error) {
	n := begin(ctx, "set_variables", id)
	set, err = m.asked.SetVariables(ctx, client, id, variables)
	n.end(err)
	if err == nil {
		n.interpreter = set.InterpreterID
	}
	return set, err
}

func (m noted) Upload(ctx context.Context, client sessions.Client, id, path string, data []byte) (up *sessions.Upload, err error) {
	n := begin(ctx, "upload", id)
	up, err = m.asked.Upload(ctx, client, id, path, data)
	n.end(err)
	return up, err
}
