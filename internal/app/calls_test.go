package app

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/mark3labs/mcp-go/mcp"

	"understudy/internal/transport"
	"understudy/sessions"
	"understudy/tools"
)

// notNoted are the methods of tools.Manager that no call of a tool comes down to.
var notNoted = map[string]bool{"Farewell": true}

// TestEveryCallIsNoted fails when the tools learn to ask the Manager for
// something that the log would not name.
func TestEveryCallIsNoted(t *testing.T) {
	manager := reflect.TypeFor[tools.Manager]()
	for i := range manager.NumMethod() {
		method := manager.Method(i)
		if notNoted[method.Name] {
			continue
		}
		n := &note{}
		callWithNothing(context.WithValue(t.Context(), noteKey{}, n), reflect.ValueOf(noted{}).MethodByName(method.Name))
		if n.operation == "" || n.outcome != outcomeFault {
			t.Errorf("%s: noted as %+v; calls.go needs a method for it", method.Name, *n)
		}
	}
}

// callWithNothing calls a method of a Manager that isn't there, which panics
// after it has noted the call.
func callWithNothing(ctx context.Context, method reflect.Value) {
	defer func() { _ = recover() }()
	args := []reflect.Value{reflect.ValueOf(ctx)}
	for i := 1; i < method.Type().NumIn(); i++ {
		args = append(args, reflect.Zero(method.Type().In(i)))
	}
	method.Call(args)
}

// answers is a Manager whose runs come to what it says.
type answers struct {
	tools.Manager
	result *sessions.Result
	err    error
}

func (a answers) Run(context.Context, sessions.Client, sessions.RunRequest) (*sessions.Result, error) {
	return a.result, a.err
}

func TestLineOfACall(t *testing.T) {
	const secretCode, secretText = "password = 'swordfish'", "what it printed"
	result := &sessions.Result{InterpreterID: "ab12", Execution: 3, Status: sessions.StatusError, Stdout: secretText}
	refusal := mcp.NewToolResultError(secretText)
	alice := transport.Caller{Client: "principal:alice", Principal: "alice", Request: "7"}
	for name, test := range map[string]struct {
		caller  transport.Caller
		manager answers
		before  bool // the handler does not get as far as the Manager
		fails   error
		want    string
	}{
		"a run":             {alice, answers{result: result}, false, nil, "request=7 client=alice tool=run_python_code operation=run interpreter_id=ab12 execution=3 outcome=error"},
		"a refusal":         {alice, answers{err: sessions.Errorf(sessions.CodeBusy, "busy")}, false, nil, "interpreter_id=asked outcome=busy"},
		"a cancelled call":  {alice, answers{err: context.Canceled}, false, nil, "outcome=cancelled"},
		"a fault":           {alice, answers{err: errors.New("bug")}, false, nil, "outcome=fault"},
		"a bad argument":    {alice, answers{}, true, nil, `operation="" outcome=invalid`},
		"a handler's error": {alice, answers{}, true, errors.New("bug"), `outcome=fault`},
		"an MCP session":    {transport.Caller{Client: "session:SECRETID", Request: "8"}, answers{result: result}, false, nil, "request=8 client=session-"},
		"nobody":            {transport.Caller{Request: "9"}, answers{result: result}, false, nil, "client=anonymous"},
		"stdio":             {transport.Caller{Client: "stdio"}, answers{result: result}, false, nil, "request=1 client=stdio"},
	} {
		var log bytes.Buffer
		counted := ""
		c := &calls{
			log: slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug})),
			count: func(tool, operation, outcome string, _ time.Duration) {
				counted = tool + "/" + operation + "/" + outcome
			},
		}
		handle := c.middleware(func(ctx context.Context, r mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			if test.before {
				return refusal, test.fails
			}
			_, err := noted{asked: test.manager}.Run(ctx, "", sessions.RunRequest{Code: secretCode, InterpreterID: "asked"})
			if err != nil {
				return refusal, nil
			}
			return mcp.NewToolResultText(secretText), nil
		})
		request := mcp.CallToolRequest{}
		request.Params.Name, request.Params.Arguments = "run_python_code", map[string]any{"code": secretCode}
		_, _ = handle(transport.WithCaller(t.Context(), test.caller), request)
		if !strings.Contains(log.String(), test.want) || strings.Count(log.String(), "\n") != 1 || !strings.HasPrefix(counted, "run_python_code/") {
			t.Errorf("%s: counted %s, log %s", name, counted, &log)
		}
		for _, secret := range []string{"swordfish", secretText, "SECRETID"} {
			if strings.Contains(log.String(), secret) {
				t.Errorf("%s: the log has %q: %s", name, secret, &log)
			}
		}
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
		n := begin(t.Context(), "run", sent)
		if n.interpreter != want {
			t.Errorf("%.40q is logged as %.80q", sent, n.interpreter)
		}
	}
}

func TestCallWithoutANote(t *testing.T) {
	if _, err := (noted{asked: answers{result: &sessions.Result{}}}).Run(t.Context(), "", sessions.RunRequest{}); err != nil {
		t.Error(err)
	}
}

func TestLineOfARead(t *testing.T) {
	var log bytes.Buffer
	c := &calls{log: slog.New(slog.NewTextHandler(&log, nil)), level: slog.LevelInfo}
	ctx := transport.WithCaller(t.Context(), transport.Caller{Client: "principal:alice", Principal: "alice", Request: "7"})
	c.read(ctx, "understudy://interpreters/ab12/figures/a.png", sessions.Errorf(sessions.CodeNotFound, "secret"), time.Millisecond)
	want := "msg=read request=7 client=alice uri=understudy://interpreters/ab12/figures/a.png outcome=not_found seconds=0.001\n"
	if !strings.HasSuffix(log.String(), want) {
		t.Errorf("%s", &log)
	}
	log.Reset()
	c.read(ctx, strings.Repeat("x", 1<<20), nil, 0)
	if log.Len() > 2*mostOfURI || !strings.Contains(log.String(), "outcome=ok") {
		t.Errorf("%d bytes: %.300s", log.Len(), &log)
	}
}
