package journal

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"understudy/sessions"
)

// someUses are calls of two servers, one of them with a secret everywhere.
func someUses(secret string) []sessions.ToolUse {
	at := time.Unix(1_700_000_000, 42)
	return []sessions.ToolUse{
		{
			Server: "github", Tool: "search_issues", Arguments: []byte(`{"n":5,"query":"` + secret + `"}`), Started: at, Seconds: 0.25, Status: "ok",
			Result: []byte(`{"structured":{"` + secret + `":[1,"` + secret + `"]}}`), Bytes: 12_300,
		},
		{Server: "time", Tool: "now", Started: at.Add(time.Second), Seconds: 0.5, Status: "error", Message: "no zone " + secret, Bytes: 12},
		{Server: "github", Tool: secret, Started: at.Add(2 * time.Second), Status: string(sessions.RefusedInvalid), Message: "no such tool"},
	}
}

func TestToolUses(t *testing.T) {
	const secret = "sk-12345678"
	j := begin(t, newPath(t), Options{})
	a := newAgent(t, j, "a", "c")
	a.secrets = []string{secret}
	a.run("no tools", sessions.Result{})
	e := a.done(a.next("tools", nil), sessions.Result{ToolCalls: &sessions.ToolCalls{Count: 3, Failed: 2, ByTool: map[string]int{"github.search_issues": 1, "time.now": 1, "github." + secret: 1}}})
	e.ToolUses = someUses(secret)
	_, err := j.Record(t.Context(), e)
	must(t, err)
	expect(t, e.ToolUses[0].Message == "" && e.ToolUses[2].Tool == secret && e.Result.ToolCalls.ByTool["github."+secret] == 1, "the caller's record was changed: %+v", e.ToolUses)

	r := open(t, j.Path())
	heads, err := r.Executions(t.Context(), Query{Run: j.RunID()})
	insist(t, err == nil && len(heads) == 2, "%+v, %v", heads, err)
	diff := cmp.Diff([]map[string]int{nil, {"github": 2, "time": 1}}, []map[string]int{heads[0].ToolCalls, heads[1].ToolCalls})
	expect(t, diff == "" && heads[1].Detail == nil, "heads: %s", diff)
	line, err := r.Line(t.Context(), heads[1].ID)
	insist(t, err == nil && len(line) == 2, "%+v, %v", line, err)
	want := someUses(masked)
	diff = cmp.Diff(want, line[1].Detail.ToolUses)
	expect(t, diff == "" && line[0].Detail.ToolUses == nil, "%s", diff)
	expect(t, line[1].Detail.Record.ToolCalls.ByTool["github."+masked] == 1, "%v", line[1].Detail.Record.ToolCalls)
}

// TestToolUsesGoWithTheirExecution, whoever removes it: a program of before knows nothing of
// them, and the next execution may get its id.
func TestToolUsesGoWithTheirExecution(t *testing.T) {
	file := newPath(t)
	j := begin(t, file, Options{})
	a := newAgent(t, j, "a", "c")
	for range 2 {
		e := a.done(a.next("tools", nil), sessions.Result{})
		e.ToolUses = someUses("word")
		_, err := j.Record(t.Context(), e)
		must(t, err)
	}
	run := j.RunID()
	end(t, j)
	left := func() (count int) {
		db, conn := connection(t, file)
		defer db.Close()
		defer conn.Close()
		must(t, conn.QueryRowContext(t.Context(), "SELECT count(*) FROM tool_calls").Scan(&count))
		return count
	}
	fill(t, file, "DELETE FROM executions WHERE number = 2")
	expect(t, left() == 3, "after one is deleted %d are left", left())
	must(t, quiet(t, file, Options{}).remove(t.Context(), run))
	expect(t, left() == 0, "after the run is removed %d are left", left())
}

// TestManyToolCallsAreCounted without their results being read, which are large.
func TestManyToolCallsAreCounted(t *testing.T) {
	j := begin(t, newPath(t), Options{})
	a := newAgent(t, j, "a", "c")
	e := a.done(a.next("tools", nil), sessions.Result{})
	for range 1000 {
		e.ToolUses = append(e.ToolUses, sessions.ToolUse{Server: "time", Tool: "now", Status: "ok", Result: []byte(`"` + strings.Repeat("x", 10_000) + `"`)})
	}
	_, err := j.Record(t.Context(), e)
	must(t, err)
	all, err := open(t, j.Path()).Executions(t.Context(), Query{Detail: true})
	expect(t, err == nil && all[0].ToolCalls["time"] == 1000 && len(all[0].Detail.ToolUses) == 1000, "%v", err)
}

// TestToolCallsOfWhatRuns come with the heartbeat.
func TestToolCallsOfWhatRuns(t *testing.T) {
	j := begin(t, newPath(t), Options{})
	beat := sessions.Heartbeat{InterpreterID: "a", Execution: 1, ToolCalls: map[string]int{"github": 2, "sk-12345678": 1}, Secrets: []string{"sk-12345678"}}
	must(t, j.SaveHeartbeats(t.Context(), []sessions.Heartbeat{beat, {InterpreterID: "b"}}))
	got, err := open(t, j.Path()).Heartbeats(t.Context(), j.RunID())
	insist(t, err == nil && len(got) == 2, "%+v, %v", got, err)
	diff := cmp.Diff(map[string]int{"github": 2, masked: 1}, got[0].ToolCalls)
	expect(t, diff == "" && len(got[1].ToolCalls) == 0, "%s %v", diff, got[1].ToolCalls)
}
