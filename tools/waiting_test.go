package tools

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mark3labs/mcp-go/mcp"

	"understudy/sessions"
)

func TestProgress(t *testing.T) {
	var got []map[string]any
	synctest.Test(t, func(t *testing.T) {
		p := &progress{began: time.Now(), notify: func(params map[string]any) { got = append(got, params) }}
		for _, s := range []struct {
			after time.Duration
			sessions.Progress
		}{
			{time.Second, sessions.Progress{Elapsed: time.Second, Queued: true}},
			{time.Second, sessions.Progress{Elapsed: 2 * time.Second, Queued: true, Phase: "the workspace is being prepared (3 of 12 GB)"}},
			{time.Second, sessions.Progress{Elapsed: time.Second, Limit: time.Hour}},
			{200 * time.Millisecond, sessions.Progress{Elapsed: 1200 * time.Millisecond, Limit: time.Hour, LastLine: "too soon"}},
			{10800 * time.Millisecond, sessions.Progress{Elapsed: 12 * time.Second, Limit: time.Hour, LastLine: "epoch 3"}},
			{time.Second, sessions.Progress{Elapsed: 13 * time.Second, Limit: 10 * time.Second}},
			{time.Second, sessions.Progress{Elapsed: 14 * time.Second}},
		} {
			time.Sleep(s.after)
			p.report(s.Progress)
		}
		p.end(t.Context())
		time.Sleep(time.Second)
		p.report(sessions.Progress{Elapsed: time.Minute})
	})

	want := []map[string]any{
		{"progress": 1., "message": "waiting for its turn, 1 second so far"},
		{"progress": 2., "message": "the workspace is being prepared (3 of 12 GB), 2 seconds so far"},
		{"progress": 3., "message": "1 second of 1 hour", "total": 3602.},
		{"progress": 14., "message": "12 seconds of 1 hour: epoch 3", "total": 3602.},
		{"progress": 15., "message": "13 seconds of 10 seconds"},
		{"progress": 16., "message": "14 seconds"},
	}
	same(t, want, got)
}

// TestAnswerHoldsBack: an answer comes a moment after the last notification,
// but never later than its caller's patience.
func TestAnswerHoldsBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := &progress{notify: func(map[string]any) {}}
		p.report(sessions.Progress{Elapsed: time.Second})
		start := time.Now()
		p.end(t.Context())
		held := time.Since(start)
		expect(t, held == settling, "held back for %s", held)
		p.end(t.Context())
		held = time.Since(start)
		expect(t, held == settling, "held back again, %s in all", held)

		gone, cancel := context.WithCancel(t.Context())
		cancel()
		p.ended = false
		time.Sleep(progressGap)
		p.report(sessions.Progress{Elapsed: 2 * time.Second})
		start = time.Now()
		p.end(gone)
		held = time.Since(start)
		expect(t, held == 0, "held back for %s after the caller left", held)
	})
}

func TestNoTokenNoProgress(t *testing.T) {
	p := newToolbox(nil, nil, Options{}).progress(t.Context(), mcp.CallToolRequest{})
	expect(t, p == nil && p.listener() == nil, "a client that gave no token is told of progress")
	p.end(t.Context())
}

// TestProgressArrives: the client gets its own token back, and every
// notification in order.
func TestProgressArrives(t *testing.T) {
	t.Parallel()
	for era, options := range eras {
		t.Run(era, func(t *testing.T) {
			t.Parallel()
			m := &fakeManager{run: func(_ context.Context, _ sessions.Client, r sessions.RunRequest) (*sessions.Result, error) {
				r.Progress(sessions.Progress{Elapsed: time.Second, Limit: time.Hour, LastLine: "step 1"})
				time.Sleep(progressGap)
				r.Progress(sessions.Progress{Elapsed: 2 * time.Second, Limit: time.Hour, LastLine: "step 2"})
				return example(func(*sessions.Result) {}), nil
			}}
			c := connect(t, "tester", m, Options{}, options...)
			arrived := make(chan []any, 10)
			c.OnNotification(func(n mcp.JSONRPCNotification) {
				fields := n.Params.AdditionalFields
				arrived <- []any{n.Method, fields["progressToken"], fields["message"]}
			})
			var request mcp.CallToolRequest
			request.Params.Name = "run_python_code"
			request.Params.Arguments = map[string]any{"code": "work()"}
			request.Params.Meta = &mcp.Meta{ProgressToken: "token-7"}
			must(t, errOf(c.CallTool(t.Context(), request)))
			for _, message := range []string{"1 second of 1 hour: step 1", "2 seconds of 1 hour: step 2"} {
				same(t, []any{"notifications/progress", "token-7", message}, <-arrived)
			}
		})
	}
}

// TestWhoGivesUpEarlyIsAnsweredBefore: OpenAI's Agents SDK and AutoGen list the tools
// first, LangChain and LlamaIndex open a session for each call.
func TestWhoGivesUpEarlyIsAnsweredBefore(t *testing.T) {
	for name, test := range map[string]struct {
		client, arguments string
		lists, progress   bool
		o                 Options
		want              time.Duration
	}{
		"a framework":                {client: "mcp", lists: true, want: 4 * time.Second},
		"with a wait of its own":     {client: "mcp", lists: true, arguments: `,"wait":30`, want: 30 * time.Second},
		"with a zero that is filled": {client: "mcp", lists: true, arguments: `,"wait":0`, want: 4 * time.Second},
		"an operator who waits less": {client: "mcp", lists: true, o: Options{DefaultWait: time.Second}, want: time.Second},
		"a program that calls first": {client: "mcp", want: 0},
		"one that wants progress":    {client: "mcp", lists: true, progress: true, want: 0},
		"one of another name":        {client: "fastmcp", lists: true, want: 0},
	} {
		for _, tool := range []string{runPythonCodeName, manageInterpretersName} {
			t.Run(name+" "+tool, func(t *testing.T) {
				var waited time.Duration
				m := &fakeManager{
					run: func(_ context.Context, _ sessions.Client, r sessions.RunRequest) (*sessions.Result, error) {
						waited = r.Wait
						return example(func(*sessions.Result) {}), nil
					},
					wait: func(_ context.Context, _ sessions.Client, _ string, wait time.Duration, _ func(sessions.Progress)) (*sessions.Result, error) {
						waited = wait
						return example(func(*sessions.Result) {}), nil
					},
				}
				c := connect(t, test.client, m, test.o)
				if test.lists {
					must(t, errOf(c.ListTools(t.Context(), mcp.ListToolsRequest{})))
				}
				var request mcp.CallToolRequest
				request.Params.Name = tool
				request.Params.RawArguments = []byte(`{"code":"x"` + test.arguments + `}`)
				if tool == manageInterpretersName {
					request.Params.RawArguments = []byte(`{"operation":"wait"` + test.arguments + `}`)
				}
				if test.progress {
					request.Params.Meta = &mcp.Meta{ProgressToken: "p"}
				}
				for range 2 { // having called once, a program lists, and is known for what it was
					must(t, errOf(c.CallTool(t.Context(), request)))
					must(t, errOf(c.ListTools(t.Context(), mcp.ListToolsRequest{})))
				}
				expect(t, waited == test.want, "it is kept waiting for %s, want %s", waited, test.want)
			})
		}
	}
}

func TestBeginningsAreBounded(t *testing.T) {
	var b beginnings
	for i := range 2*mostKnown + 5 {
		b.note(sessions.Client("session:"+time.Duration(i).String()), true)
	}
	expect(t, len(b.listed) <= mostKnown, "%d clients are remembered", len(b.listed))
}
