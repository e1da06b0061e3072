package app

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"time"

	"understudy/internal/transport"
	"understudy/sessions"
	"understudy/tools"
)

func TestLineOfACall(t *testing.T) {
	run := tools.Call{Tool: "run_python_code", Operation: "run", InterpreterID: "ab12", Execution: 3, Outcome: "error"}
	for name, test := range map[string]struct {
		caller transport.Caller
		call   tools.Call
		want   string
	}{
		"a principal":    {transport.Caller{Client: "principal:alice", Principal: "alice", Request: "7"}, run, "request=7 client=alice tool=run_python_code operation=run interpreter_id=ab12 execution=3 outcome=error"},
		"a bad argument": {transport.Caller{Client: "stdio"}, tools.Call{Tool: "run_python_code", Outcome: "invalid"}, `request=1 client=stdio tool=run_python_code operation="" outcome=invalid`},
		"an MCP session": {transport.Caller{Client: "session:SECRETID", Request: "8"}, run, "request=8 client=session-"},
		"nobody":         {transport.Caller{Request: "9"}, run, "client=anonymous"},
	} {
		var log bytes.Buffer
		counted := ""
		c := &calls{
			log: slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug})),
			count: func(tool, operation, outcome string, _ time.Duration) {
				counted = tool + "/" + operation + "/" + outcome
			},
		}
		c.tell(transport.WithCaller(t.Context(), test.caller), test.call)
		want := strings.Join([]string{test.call.Tool, test.call.Operation, test.call.Outcome}, "/")
		expect(t, strings.Contains(log.String(), test.want) && strings.Count(log.String(), "\n") == 1 && counted == want, "%s: counted %s, log %s", name, counted, &log)
		expect(t, !strings.Contains(log.String(), "SECRETID"), "%s: the log has a key: %s", name, &log)
	}
}

// TestLogOfForeignIDs: what a client sends for an id does not fill the log.
func TestLogOfForeignIDs(t *testing.T) {
	id := strings.Repeat("0123456789abcdef", 2)
	for sent, want := range map[string]string{
		"": "", id: id, "mine": "mine", "sixteen letters.": "sixteen letters.",
		"analysis-" + id:            "analysis-" + id,
		strings.Repeat(id, 4):       id[:16] + "…",
		"../" + id:                  "../" + id[:13] + "…",
		strings.Repeat("ä", 5<<20):  strings.Repeat("ä", 16) + "…",
		"a\nlevel=ERROR msg=forged": "a\nlevel=ERROR ms…",
	} {
		got := loggable(sent)
		expect(t, got == want, "%.40q is logged as %.80q", sent, got)
	}
}

func TestLineOfARead(t *testing.T) {
	const uri = "understudy://interpreters/ab12/figures/a.png"
	for _, test := range []struct {
		uri  string
		err  error
		want string
	}{
		{uri, sessions.Errorf(sessions.CodeNotFound, "secret"), "msg=read request=7 client=alice uri=" + uri + " outcome=not_found seconds=0.001\n"},
		{strings.Repeat("x", 1<<20), nil, "uri=" + strings.Repeat("x", 200) + "… outcome=ok seconds=0.001\n"},
		{uri, context.Canceled, "outcome=cancelled"},
		{uri, errors.New("bug"), "outcome=fault"},
	} {
		var log bytes.Buffer
		c := &calls{log: slog.New(slog.NewTextHandler(&log, nil)), level: slog.LevelInfo}
		ctx := transport.WithCaller(t.Context(), transport.Caller{Client: "principal:alice", Principal: "alice", Request: "7"})
		c.read(ctx, test.uri, test.err, time.Millisecond)
		expect(t, strings.Contains(log.String(), test.want), "%.400s", &log)
	}
}
