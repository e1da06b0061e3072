package e2e

import (
	"bytes"
	"context"
	"encoding/hex"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/mark3labs/mcp-go/client"
	"github.com/mark3labs/mcp-go/mcp"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"
)

// traced is a server on stdio that sends its traces to an endpoint.
func traced(t *testing.T, endpoint string, args ...string) (*client.Client, *bytes.Buffer) {
	t.Helper()
	var log bytes.Buffer
	cmd := command(t, append([]string{"serve"}, args...)...)
	cmd.Env = append(withoutTracing(cmd), "OTEL_EXPORTER_OTLP_ENDPOINT="+endpoint, "OTEL_EXPORTER_OTLP_HEADERS=api-key=hush-header")
	cmd.Stderr = &log
	return spawn(t, cmd), &log
}

func withoutTracing(cmd *exec.Cmd) []string {
	return slices.DeleteFunc(cmd.Env, func(entry string) bool { return strings.HasPrefix(entry, "OTEL_") })
}

// itself is a file of other servers: the program is one.
func itself(t *testing.T) string {
	t.Helper()
	text, err := json.Marshal(map[string]any{"mcpServers": map[string]any{"other": map[string]any{
		"command": command(t).Path, "args": []string{"serve", "--workdir", t.TempDir(), "--data-dir", t.TempDir(), "--python", python()},
	}}})
	must(t, err)
	path := filepath.Join(t.TempDir(), "servers.json")
	must(t, os.WriteFile(path, text, 0o600))
	return path
}

// TestTraces has a real server send the spans of a call, its execution and a call of
// another server, in that of the client, and guards that nothing which was said in them is
// among what is sent.
func TestTraces(t *testing.T) {
	var mu sync.Mutex
	var sent []byte
	spans := map[string]*tracepb.Span{} // by the id of the parent
	collector := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		var data tracepb.TracesData
		err := proto.Unmarshal(body, &data)
		mu.Lock()
		defer mu.Unlock()
		expect(t, err == nil && r.URL.Path == "/v1/traces" && r.Header.Get("Api-Key") == "hush-header", "%v, %s, %v", err, r.URL, r.Header)
		sent = append(sent, body...)
		for _, resource := range data.ResourceSpans {
			for _, scope := range resource.ScopeSpans {
				for _, span := range scope.Spans {
					spans[hex.EncodeToString(span.ParentSpanId)] = span
				}
			}
		}
	}))
	defer collector.Close()
	c, log := traced(t, collector.URL, "--mcp", itself(t), "--mcp-allow", "other.*")
	const parent = "00f067aa0ba902b7"
	var request mcp.CallToolRequest
	request.Params.Name = "run_python_code"
	request.Params.Arguments = map[string]any{"code": "import os\nhushed = 'hush-code'\nprint(hushed, [n for n in os.environ if 'OTEL' in n])\nfrom mcptools import other\nprint(other.run_python_code(code=\"'hush-upstream'\"))"}
	request.Params.Meta = &mcp.Meta{AdditionalFields: map[string]any{"traceparent": "00-4bf92f3577b34da6a3ce929d0e0e4736-" + parent + "-01"}}
	result, err := c.CallTool(context.Background(), request)
	must(t, err)
	said := result.Content[0].(mcp.TextContent).Text
	expect(t, strings.Contains(said, "hush-code []") && strings.Contains(said, "hush-upstream"), "the code sees %s", said)
	refused(t, c, "hush", "run_python_code", "code", "1", "hush-argument", 1)
	must(t, c.Close())

	mu.Lock()
	defer mu.Unlock()
	call := spans[parent]
	insist(t, call != nil && call.Name == "tools/call run_python_code", "spans are %v; the log is %s", spans, log)
	execution := spans[hex.EncodeToString(call.SpanId)]
	insist(t, execution != nil && execution.Name == "execute", "spans are %v", spans)
	expect(t, hex.EncodeToString(execution.TraceId) == "4bf92f3577b34da6a3ce929d0e0e4736", "the trace is %v", execution)
	upstream := spans[hex.EncodeToString(execution.SpanId)]
	insist(t, upstream != nil && upstream.Kind == tracepb.Span_SPAN_KIND_CLIENT && strings.Contains(upstream.Name, "run_python_code"), "spans are %v", spans)
	expect(t, !bytes.Contains(sent, []byte("hush")), "the spans tell what was said: %q", sent)
}

// TestTracesGoNowhere guards that a collector which is not there changes no answer.
func TestTracesGoNowhere(t *testing.T) {
	gone := httptest.NewServer(nil)
	gone.Close()
	c, log := traced(t, gone.URL)
	record, text := run(t, c, "6 * 7")
	expect(t, strings.Contains(text, "42"), "the answer is %s, %v", text, record)
	must(t, c.Close())
	expect(t, strings.Count(log.String(), "sending traces") == 1, "the log is %s", log)
}
