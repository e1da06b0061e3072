package metrics

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil"

	"understudy/sessions"
)

var standing = sessions.Stats{
	Sessions: 3, Running: 1, Waiting: 2, Clients: 2, Unfetched: 4, Memory: 5 << 20, Private: 1 << 20,
	Starts: map[string]uint64{"zygote": 2, "branch": 1}, FailedStarts: 7,
}

func newTestMetrics() *Metrics {
	return New(Options{Version: "v1", Stats: func(context.Context) sessions.Stats { return standing }})
}

// scrape returns what Prometheus reads.
func scrape(t *testing.T, m *Metrics) string {
	t.Helper()
	answer := httptest.NewRecorder()
	m.Handler().ServeHTTP(answer, httptest.NewRequest(http.MethodGet, "/metrics", http.NoBody))
	if answer.Code != http.StatusOK {
		t.Fatalf("%d: %s", answer.Code, answer.Body)
	}
	return answer.Body.String()
}

func TestScrape(t *testing.T) {
	m := newTestMetrics()
	yes, no := true, false
	for _, r := range []sessions.Result{
		{Status: sessions.StatusOK, ExecTime: 0.5, ToolCalls: &sessions.ToolCalls{Count: 5, Failed: 2, ByTool: map[string]int{"github.search": 3, "github.files.read": 1, "time.now": 1}}},
		{Status: sessions.StatusCrashed, InterpreterRestarted: true, StateRestored: &yes},
		{Status: sessions.StatusTimeout, InterpreterRestarted: true, StateRestored: &no},
		{Status: sessions.StatusInterrupted, StateRestored: &no}, // it was deleted
	} {
		r.InterpreterID = "abc123"
		m.Ended(r)
	}
	m.Call("run_python_code", "run", "ok", 3*time.Millisecond)
	m.Call("manage_interpreters", "delete", "not_found", time.Millisecond)
	m.Start("zygote", 4*time.Millisecond)
	m.Exchange(Exchange{Route: "/mcp", Method: "POST", Status: 200, Bytes: 100, Duration: time.Millisecond})
	m.Exchange(Exchange{Route: "/sse", Method: "GET", Status: 200, Bytes: 10, Duration: time.Hour, Stream: true})

	text := scrape(t, m)
	for _, line := range []string{
		`understudy_build_info{version="v1"} 1`,
		`understudy_interpreters 3`,
		`understudy_interpreters_running 1`,
		`understudy_calls_waiting 2`,
		`understudy_results_unfetched 4`,
		`understudy_clients 2`,
		`understudy_interpreters_resident_bytes 5.24288e+06`,
		`understudy_interpreters_private_bytes 1.048576e+06`,
		`understudy_interpreter_starts_total{from="zygote"} 2`,
		`understudy_interpreter_starts_total{from="branch"} 1`,
		`understudy_interpreter_start_failures_total 7`,
		`understudy_interpreter_start_duration_seconds_bucket{from="zygote",le="0.005"} 1`,
		`understudy_executions_total{status="ok"} 1`,
		`understudy_execution_duration_seconds_count 4`,
		`understudy_interpreter_deaths_total{restored="true",status="crashed"} 1`,
		`understudy_interpreter_deaths_total{restored="false",status="timeout"} 1`,
		`understudy_calls_total{operation="run",outcome="ok",tool="run_python_code"} 1`,
		`understudy_call_duration_seconds_count{outcome="ok",tool="run_python_code"} 1`,
		`understudy_refused_total{code="not_found"} 1`,
		`understudy_http_requests_total{method="POST",route="/mcp",status="200"} 1`,
		`understudy_http_response_bytes_total{route="/sse"} 10`,
		`understudy_http_request_duration_seconds_count{route="/mcp"} 1`,
		`understudy_tool_calls_total{server="github"} 4`,
		`understudy_tool_calls_total{server="time"} 1`,
		`understudy_tool_calls_failed_total 2`,
		`process_start_time_seconds`,
		`go_goroutines`,
	} {
		if !strings.Contains(text, "\n"+line) {
			t.Errorf("no line %s", line)
		}
	}
	for _, never := range []string{"abc123", `status="interrupted",`, `duration_seconds_count{route="/sse"}`} {
		if strings.Contains(text, never) {
			t.Errorf("%q is there", never)
		}
	}
	if t.Failed() {
		t.Log(text)
	}
}

// TestNamesAreBounded: whatever clients send, the number of series stays small.
func TestNamesAreBounded(t *testing.T) {
	m := newTestMetrics()
	for i := range 1000 {
		made := fmt.Sprintf("made-up-%d", i)
		m.Call("run_python_code", "run", made, 0)
		m.Exchange(Exchange{Method: made, Status: 404})
		m.Exchange(Exchange{Route: "/mcp", Method: made, Status: 405})
		m.Ended(sessions.Result{ToolCalls: &sessions.ToolCalls{Count: 1, ByTool: map[string]int{made + ".tool": 1}}})
	}
	if n, err := testutil.GatherAndCount(m.registry, "understudy_calls_total", "understudy_http_requests_total"); err != nil || n != 3 {
		t.Errorf("%d series: %v", n, err)
	}
	if n, err := testutil.GatherAndCount(m.registry, "understudy_tool_calls_total"); err != nil || n != mostServers+1 {
		t.Errorf("%d series of tools: %v", n, err)
	}
	if problems, err := testutil.GatherAndLint(m.registry); err != nil || len(problems) > 0 {
		t.Errorf("%v %v", problems, err)
	}
}
