package sessions

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/time/rate"
)

// Bounds of what one execution may ask of other servers, and of what is kept of it.
const (
	toolRate      = 50 // calls begun in a second; more wait
	keptUses      = 1000
	keptArguments = 16 << 10 // bytes of one call's
	keptAnswer    = 64 << 10 // likewise
	keptAnswers   = 4 << 20  // bytes of all of an execution's
)

// The choices of who is asked for a Consent.
const (
	ChoiceOnce        = "once"
	ChoiceInterpreter = "interpreter"
	ChoiceAlways      = "always"
	ChoiceDeny        = "deny"
)

// toolCalls are an execution's requests to other servers.
type toolCalls struct {
	session   *Session
	execution *execution
	rate      *rate.Limiter
	consent   chan struct{} // has room for who asks: one consent is asked for at a time

	mu     sync.Mutex
	begun  int
	denied map[string]string // what the user, or nobody, has agreed to, and how that is said
	count  *ToolCalls        // nil before the first
	uses   []ToolUse
	kept   int               // bytes of their answers
	open   map[*ToolUse]bool // made and not answered
	over   bool              // it is recorded
}

// newToolCalls returns nil where code reaches no other servers.
func newToolCalls(s *Session, e *execution) *toolCalls {
	if s.options.Toolbox == nil {
		return nil
	}
	return &toolCalls{session: s, execution: e, rate: rate.NewLimiter(toolRate, toolRate), consent: make(chan struct{}, 1), denied: map[string]string{}, open: map[*ToolUse]bool{}}
}

// Tool answers a request of the code's.
func (s sink) Tool(ctx context.Context, r ToolRequest) (*ToolAnswer, error) {
	if s.tools == nil {
		return nil, &ToolRefusal{RefusedUnavailable, "this server reaches no other MCP servers; its operator can name some with --mcp"}
	}
	life, cancel := context.WithCancel(s.tools.execution.life) // which knows its span
	defer cancel()
	defer context.AfterFunc(ctx, cancel)()
	ctx = life
	if r.Op != ToolCall {
		return s.tools.session.options.Toolbox.Answer(ctx, r)
	}
	return s.tools.call(ctx, r)
}

// call makes a call that is allowed, and keeps what it came to. What names no tool is not
// kept: it may be anything.
func (t *toolCalls) call(ctx context.Context, r ToolRequest) (*ToolAnswer, error) {
	client := t.session.owner()
	consent, err := t.session.options.Toolbox.Permit(ctx, client, r)
	if isInvalid(err) {
		return nil, err
	}
	use := &ToolUse{Server: r.Server, Tool: r.Name, Started: time.Now()}
	if len(r.Arguments) <= keptArguments {
		use.Arguments = r.Arguments
	}
	if err == nil {
		err = t.admit(ctx)
	}
	if err == nil && consent != nil {
		err = t.permit(ctx, client, r, *consent)
	}
	if err == nil {
		err = t.begin(use)
	}
	var answer *ToolAnswer
	if err == nil {
		answer, err = t.session.options.Toolbox.Answer(ctx, r)
	}
	t.keep(use, answer, err)
	return answer, err
}

func isInvalid(err error) bool {
	var refusal *ToolRefusal
	return errors.As(err, &refusal) && refusal.Kind == RefusedInvalid
}

// begin has the call recorded even if the run ends before it.
func (t *toolCalls) begin(use *ToolUse) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.over {
		return cancelledTool()
	}
	t.open[use] = true
	return nil
}

// admit returns when the run may make one more call.
func (t *toolCalls) admit(ctx context.Context) error {
	t.mu.Lock()
	t.begun++
	begun, most := t.begun, t.session.options.MaxToolCalls
	t.mu.Unlock()
	if most > 0 && begun > most {
		return &ToolRefusal{RefusedLimit, fmt.Sprintf("this run has made %d calls of other servers' tools, which is the limit (--mcp-max-calls); go on in another run", most)}
	}
	if err := t.rate.Wait(ctx); err != nil {
		return cancelledTool()
	}
	return nil
}

func cancelledTool() error {
	return &ToolRefusal{RefusedCancelled, "the call was cancelled: the run has ended, or waits for it no more"}
}

// permit asks the user, unless they have answered before.
func (t *toolCalls) permit(ctx context.Context, client Client, r ToolRequest, consent Consent) error {
	select {
	case t.consent <- struct{}{}:
		defer func() { <-t.consent }()
	case <-ctx.Done():
		return cancelledTool()
	}
	agreement := string(client) + " " + consent.Key // another may come to own the session
	switch {
	case ctx.Err() != nil:
		return cancelledTool()
	case t.session.agreed(agreement):
		return nil
	}
	t.mu.Lock()
	why, denied := t.denied[consent.Key]
	t.mu.Unlock()
	if !denied {
		why, denied = t.ask(ctx, client, consent, agreement)
	}
	switch {
	case !denied:
		return nil
	case ctx.Err() != nil:
		return cancelledTool()
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.denied[consent.Key] = why
	return &ToolRefusal{RefusedDenied, fmt.Sprintf("%s.%s may not be called: %s. The server's operator can allow it with --mcp-allow %s.%s", r.Server, r.Name, why, r.Server, r.Name)}
}

// ask has the user agree; why says why not.
func (t *toolCalls) ask(ctx context.Context, client Client, consent Consent, agreement string) (why string, denied bool) {
	reply := t.execution.questions.consent(ctx, consent.Text)
	if reply.Refusal != "" {
		return "it is not a tool that only reads, and " + reply.Refusal, true
	}
	switch reply.Text {
	case ChoiceOnce:
	case ChoiceAlways:
		if err := t.session.options.Toolbox.Allow(client, consent); err != nil {
			t.session.log.Error("keeping what the user has agreed to", "error", err)
		}
		t.session.agree(agreement)
	case ChoiceInterpreter:
		t.session.agree(agreement)
	default:
		return "the user has refused it", true
	}
	return "", false
}

// agreed reports whether the user has agreed to it for this interpreter.
func (s *Session) agreed(key string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.agreements[key]
}

func (s *Session) agree(key string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.agreements == nil {
		s.agreements = map[string]bool{}
	}
	s.agreements[key] = true
}

// keep adds a call to the record.
func (t *toolCalls) keep(use *ToolUse, answer *ToolAnswer, err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.open, use)
	if t.over || isInvalid(err) { // with wrong arguments it has not been made
		return
	}
	var refusal *ToolRefusal
	switch {
	case err == nil:
		use.Status, use.Message = statusOf(answer.Body)
		use.Bytes = len(answer.Body)
		for _, data := range answer.Attachments {
			use.Bytes += len(data)
		}
		if len(answer.Body) <= keptAnswer && t.kept+len(answer.Body) <= keptAnswers {
			use.Result = answer.Body
		}
	case errors.As(err, &refusal):
		use.Status, use.Message = string(refusal.Kind), refusal.Message
	default:
		use.Status, use.Message = string(RefusedUnavailable), err.Error()
	}
	t.add(use)
}

// add counts a call, and keeps what there is room for. The caller holds mu.
func (t *toolCalls) add(use *ToolUse) {
	use.Seconds = time.Since(use.Started).Seconds()
	use.Message = fmt.Sprintf("%.1000s", use.Message)
	if t.count == nil {
		t.count = &ToolCalls{ByTool: map[string]int{}}
	}
	t.count.Count++
	t.count.ByTool[use.Server+"."+use.Tool]++
	if use.Status != "ok" {
		t.count.Failed++
	}
	if len(t.uses) < keptUses {
		t.kept += len(use.Result)
		t.uses = append(t.uses, *use)
	}
}

// statusOf returns how a tool says that its call went.
func statusOf(body json.RawMessage) (status, message string) {
	var said struct {
		IsError bool `json:"is_error"`
		Content []struct {
			Text string `json:"text"`
		} `json:"content"`
	}
	if json.Unmarshal(body, &said) != nil || !said.IsError {
		return "ok", ""
	}
	for _, part := range said.Content {
		if part.Text != "" {
			return "error", part.Text
		}
	}
	return "error", ""
}

// byServer counts the calls that were answered so far; nil for none.
func (t *toolCalls) byServer() map[string]int {
	if t == nil {
		return nil
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.count == nil {
		return nil
	}
	counts := map[string]int{}
	for name, n := range t.count.ByTool {
		server, _, _ := strings.Cut(name, ".")
		counts[server] += n
	}
	return counts
}

// forget lets go of what has been recorded: the execution is kept for longer.
func (t *toolCalls) forget() {
	if t != nil {
		t.mu.Lock()
		defer t.mu.Unlock()
		t.uses = nil
	}
}

// finish returns the calls that were made; later ones are nobody's. Those without an answer
// yet have been cancelled with the run.
func (t *toolCalls) finish() (*ToolCalls, []ToolUse) {
	if t == nil {
		return nil, nil
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.over = true
	for _, use := range slices.SortedFunc(maps.Keys(t.open), func(a, b *ToolUse) int { return a.Started.Compare(b.Started) }) {
		use.Status, use.Message = string(RefusedCancelled), "the run ended before its answer"
		t.add(use)
	}
	clear(t.open)
	return t.count, t.uses
}
