package traces

import (
	"bytes"
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"testing"

	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"go.uber.org/goleak"
	"google.golang.org/protobuf/proto"

	"understudy/internal/check"
	"understudy/sessions"
)

var must, expect, insist = check.Must, check.Expect, check.Insist

func TestMain(m *testing.M) {
	for _, entry := range os.Environ() {
		if name, _, _ := strings.Cut(entry, "="); strings.HasPrefix(name, "OTEL_") {
			_ = os.Unsetenv(name)
		}
	}
	goleak.VerifyTestMain(m)
}

// collector takes spans as a collector does.
type collector struct {
	url    string
	mu     sync.Mutex
	spans  map[string]*tracepb.Span // by name
	header http.Header
	path   string
	bytes  []byte
}

func collect(t *testing.T) *collector {
	t.Helper()
	c := &collector{spans: map[string]*tracepb.Span{}}
	s := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		must(t, err)
		var data tracepb.TracesData
		must(t, proto.Unmarshal(body, &data))
		c.mu.Lock()
		defer c.mu.Unlock()
		c.header, c.path, c.bytes = r.Header, r.URL.RequestURI(), append(c.bytes, body...)
		for _, resource := range data.ResourceSpans {
			for _, scope := range resource.ScopeSpans {
				for _, span := range scope.Spans {
					c.spans[span.Name] = span
				}
			}
		}
	}))
	t.Cleanup(s.Close)
	c.url = s.URL
	return c
}

const key = "0123456789abcdef0123456789abcdef"

// follow traces a call, its execution that outlives it, and a call of another server.
func follow(tracer *Tracer, status sessions.Status, class string) {
	call, span := tracer.Call(context.Background())
	span.Tool("run_python_code")
	life, end := tracer.Execution(call, context.Background(), "py1-"+key, 3)
	span.End()
	_, answered := tracer.Upstream(life, "github", "search_issues")
	answered(errors.New("secret in an answer"))
	end(sessions.Result{Status: status, ExcType: class, Stdout: "secret output", Traceback: "secret"})
}

func TestSpans(t *testing.T) {
	c := collect(t)
	t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", c.url+"/base/")
	t.Setenv("OTEL_EXPORTER_OTLP_HEADERS", "api-key=a%20secret, other=1")
	t.Setenv("OTEL_RESOURCE_ATTRIBUTES", "deployment.environment.name=lab")
	tracer := Open("1.0", slog.New(slog.DiscardHandler))
	follow(tracer, sessions.StatusTimeout, "TimeoutError")
	tracer.Close()

	call, run, upstream := c.spans["tools/call run_python_code"], c.spans["execute"], c.spans["tools/call search_issues"]
	insist(t, call != nil && run != nil && upstream != nil, "spans are %v", c.spans)
	expect(t, bytes.Equal(run.ParentSpanId, call.SpanId) && bytes.Equal(upstream.ParentSpanId, run.SpanId), "parents are %v", c.spans)
	expect(t, call.Status.GetCode() == 0 && run.Status.GetCode() == tracepb.Status_STATUS_CODE_ERROR &&
		upstream.Status.GetCode() == tracepb.Status_STATUS_CODE_ERROR, "statuses are %v", c.spans)
	expect(t, c.path == "/base/v1/traces" && c.header.Get("Api-Key") == "a secret" && c.header.Get("Other") == "1",
		"sent to %s with %v", c.path, c.header)
	for _, sent := range []string{"lab", "TimeoutError", "py1-", "github", "understudy"} {
		expect(t, bytes.Contains(c.bytes, []byte(sent)), "%q is not sent", sent)
	}
	for _, kept := range []string{"secret", key} {
		expect(t, !bytes.Contains(c.bytes, []byte(kept)), "%q is sent", kept)
	}
}

func TestAnExceptionIsNoFailure(t *testing.T) {
	c := collect(t)
	t.Setenv("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", c.url+"/mine?key=1")
	tracer := Open("1.0", slog.New(slog.DiscardHandler))
	follow(tracer, sessions.StatusError, "a secret class")
	tracer.Close()
	insist(t, c.spans["execute"] != nil, "spans are %v", c.spans)
	expect(t, c.spans["execute"].Status.GetCode() == 0, "an exception is a failure: %v", c.spans["execute"])
	expect(t, !bytes.Contains(c.bytes, []byte("secret")), "the name of a strange class is sent")
	expect(t, c.path == "/mine?key=1", "sent to %s", c.path)
}

func TestNothingIsConfigured(t *testing.T) {
	for _, off := range []string{"", "OTEL_SDK_DISABLED=true", "OTEL_TRACES_EXPORTER=none", "OTEL_EXPORTER_OTLP_ENDPOINT=localhost secret"} {
		t.Run(off, func(t *testing.T) {
			if name, value, ok := strings.Cut(off, "="); ok {
				t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", "http://localhost:1")
				t.Setenv(name, value)
			}
			var told bytes.Buffer
			expect(t, Open("1.0", slog.New(slog.NewTextHandler(&told, nil))) == nil, "traces are sent")
			expect(t, !strings.Contains(told.String(), "secret"), "the log says %s", told.String())
			expect(t, (told.Len() > 0) == strings.Contains(off, "secret"), "the log says %q", told.String())
		})
	}
}

func TestAnEndpointThatIsDown(t *testing.T) {
	other := collect(t)
	for name, answer := range map[string]http.Handler{
		"redirects": http.RedirectHandler(other.url, http.StatusTemporaryRedirect),
		"refuses":   http.NotFoundHandler(),
	} {
		t.Run(name, func(t *testing.T) {
			asked := make(chan struct{}, 100)
			s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				asked <- struct{}{}
				answer.ServeHTTP(w, r)
			}))
			defer s.Close()
			t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", strings.Replace(s.URL, "//", "//user:secret@", 1)+"?key=secret")
			t.Setenv("OTEL_EXPORTER_OTLP_PROTOCOL", "grpc")
			t.Setenv("OTEL_BSP_SCHEDULE_DELAY", "1")
			var told bytes.Buffer
			tracer := Open("1.0", slog.New(slog.NewTextHandler(&told, nil)))
			for range 3 {
				follow(tracer, sessions.StatusOK, "")
				<-asked
			}
			tracer.Close()
			expect(t, strings.Count(told.String(), "sending traces") == 1 && strings.Count(told.String(), "4318") == 1, "the log says %s", told.String())
			expect(t, !strings.Contains(told.String(), "secret"), "the log says %s", told.String())
		})
	}
	expect(t, other.header == nil, "headers went to another host: %v", other.header)
}

func TestEndpointWithoutCredentials(t *testing.T) {
	t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", "https://user:secret@collector:4318/base?key=secret")
	endpoint, err := Endpoint()
	must(t, err)
	expect(t, endpoint == "https://collector:4318", "the endpoint is %s", endpoint)
	t.Setenv("OTEL_EXPORTER_OTLP_HEADERS", "secret")
	_, err = Endpoint()
	insist(t, err != nil, "headers that are none are taken")
	expect(t, !strings.Contains(err.Error(), "secret"), "the error is %v", err)
}

func TestParents(t *testing.T) {
	const parent = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"
	ctx := Extract(t.Context(), map[string]string{"traceparent": parent})
	expect(t, Inject(ctx)["traceparent"] == parent, "%v is passed on", Inject(ctx))
	expect(t, len(Inject(Extract(t.Context(), map[string]string{"traceparent": "no"}))) == 0, "nonsense is passed on")
}
