package report

import (
	"bytes"
	"cmp"
	_ "embed"
	"encoding/json"
	"fmt"
	"regexp"
	"strings"

	"understudy/internal/journal"
	"understudy/internal/phrase"
	"understudy/pyworker"
	"understudy/sessions"
)

const (
	toolCallLines = 20  // that an execution's code has below it
	toolCallWidth = 120 // characters of a call, and of what an error says
	// replayLimit is how much of results a notebook or a script has at most, in bytes, so
	// that it can be opened.
	replayLimit = 16 << 20
)

// scriptTools is what a notebook or a script has in place of mcptools.
//
//go:embed script_mcptools.py
var scriptTools string

// callsTools finds code that may call other servers' tools.
var callsTools = regexp.MustCompile(`\bmcptools\b`)

// toolCalls says in a line each which tools of other servers an execution called.
func toolCalls(e journal.Execution) []string {
	if e.Detail == nil {
		return nil
	}
	uses := e.Detail.ToolUses
	var lines []string
	for _, u := range uses[:min(toolCallLines, len(uses))] {
		lines = append(lines, "mcptools: "+toolCall(u))
	}
	all := len(uses)
	if r := e.Detail.Record.ToolCalls; r != nil {
		all = max(all, r.Count) // not all are in the journal
	}
	if more := all - len(lines); more > 0 && all > 0 {
		lines = append(lines, fmt.Sprintf("mcptools: and %d more", more))
	}
	return lines
}

// toolCall is one call with what it came to.
func toolCall(u sessions.ToolUse) string {
	said := u.Server + "." + u.Tool + "(…)"
	if len(u.Arguments) > 0 {
		said = cutLine(pluginCall(u.Server+"."+u.Tool, u.Arguments), toolCallWidth)
	}
	said += " → " + cutLine(u.Outcome(), toolCallWidth)
	return strings.TrimSpace(blanks.ReplaceAllString(said, " "))
}

// commented is the code of a cell with its calls of other servers' tools in comments below.
func commented(c Cell) string {
	lines := toolCalls(c.Execution)
	if len(lines) == 0 {
		return c.Code
	}
	return strings.TrimRight(c.Code, "\n") + "\n\n" + comment(strings.Join(lines, "\n"))
}

// toolCounts says how many calls of other servers' tools there were, of which; "" for none.
func toolCounts(all []journal.Execution) string {
	counts := map[string]int{}
	for _, e := range all {
		for server, n := range e.ToolCalls {
			counts[server] += n
		}
	}
	return inline(phrase.CountEach("call", counts))
}

// replayed is a call as scriptTools takes it: with a value, or why there is none.
type replayed struct {
	Server    string          `json:"server"`
	Tool      string          `json:"tool"`
	Arguments json.RawMessage `json:"arguments"`
	Value     json.RawMessage `json:"value,omitempty"`
	Error     string          `json:"error,omitempty"`
	Kind      string          `json:"kind"` // of the error
}

// replay is Python by which the cells' calls of other servers' tools give once more what they
// gave; "" where there are none.
func replay(cells []Cell) string {
	var kept bytes.Buffer
	needed := false
	encoder := json.NewEncoder(&kept)
	encoder.SetEscapeHTML(false)
	for _, c := range cells {
		if c.Skipped {
			continue
		}
		needed = needed || c.Execution.Kind == sessions.RunsCode && callsTools.MatchString(c.Code)
		if c.Execution.Detail == nil {
			continue
		}
		for _, u := range c.Execution.Detail.ToolUses {
			needed = true
			r := replayed{Server: u.Server, Tool: u.Tool, Arguments: u.Arguments}
			if r.Value, r.Error = valueOf(u); kept.Len()+len(r.Value) > replayLimit {
				r.Value, r.Error = nil, notKept(u, "all results together are too long for that")
			}
			if r.Kind = u.Status; u.Status == sessions.ToolOK {
				r.Kind = string(sessions.RefusedUnavailable)
			}
			_ = encoder.Encode(r) // what the journal has is JSON
		}
	}
	if !needed {
		return ""
	}
	return scriptTools + "\n\nunderstudy_mcptools(" + pythonText(kept.String()) + ", " + pythonText(conversion()) + ")\n"
}

// conversion is the source of how a session writes arguments as JSON.
func conversion() string {
	source, err := pyworker.Files.ReadFile("mcptools/plain.py")
	if err != nil {
		panic(err) // it is in the program
	}
	return string(source)
}

// valueOf is what code got of a call, or why it gets nothing here.
func valueOf(u sessions.ToolUse) (value json.RawMessage, problem string) {
	if u.Status != sessions.ToolOK {
		return nil, cmp.Or(u.Message, "it ended with "+u.Status)
	}
	var body struct {
		Structured json.RawMessage
		Content    []struct{ Type, Text string }
	}
	switch {
	case len(u.Result) == 0:
		return nil, notKept(u, "it was too long")
	case json.Unmarshal(u.Result, &body) != nil:
		return nil, notKept(u, "it can't be read")
	}
	var texts []string
	for _, part := range body.Content {
		if part.Type != "text" {
			return nil, notKept(u, fmt.Sprintf("it has parts of type %s, of which the journal keeps none", part.Type))
		}
		texts = append(texts, part.Text)
	}
	var got any = texts // None where there are none
	switch {
	case len(body.Structured) > 0:
		return body.Structured, ""
	case len(texts) == 1:
		got = texts[0]
	}
	value, _ = json.Marshal(got) // texts always can be
	return value, ""
}

func notKept(u sessions.ToolUse, why string) string {
	return fmt.Sprintf("the result of %s.%s is not kept: %s", u.Server, u.Tool, why)
}
