package app

import (
	"context"
	"net/http"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"
	"github.com/mark3labs/mcp-go/tracing"

	"understudy/internal/traces"
	"understudy/internal/transport"
)

// openTraces opens what traces, before the sessions, so that it hears of their end.
func (a *App) openTraces() {
	if a.traces = traces.Open(Version(), a.log); a.traces != nil {
		a.endWith(a.traces.Close)
	}
}

// tracingOptions have mcp-go tell of calls; none where nothing is traced.
func (a *App) tracingOptions() []server.ServerOption {
	if a.traces == nil {
		return nil
	}
	return []server.ServerOption{
		server.WithTracer(callTracer{a.traces}), server.WithMetaPropagator(traceContext{}),
	}
}

// tracedForwarder traces the calls that a gateway passes on. Their spans go with them in
// headers.
type tracedForwarder struct {
	to     transport.Forwarder
	traces *traces.Tracer
}

// Forward passes a request on in a span of its own.
func (t tracedForwarder) Forward(w http.ResponseWriter, r *http.Request, f transport.Forwarded) {
	if f.Method == string(mcp.MethodToolsCall) {
		ctx, span := t.traces.Call(traces.Extract(r.Context(), f.Caller.Trace.Fields()))
		defer span.End()
		for name, value := range traces.Inject(ctx) {
			r.Header.Set(name, value)
		}
		r = r.WithContext(ctx)
	}
	t.to.Forward(w, r, f)
}

// callTracer traces the calls among all that mcp-go tells of.
type callTracer struct{ traces *traces.Tracer }

func (t callTracer) Start(ctx context.Context, name string, _ tracing.SpanKind, _ ...tracing.Attribute) (context.Context, tracing.Span) {
	if name != "mcp.tools/call" { // or the part of one that is its tool's
		return tracing.NoopTracer().Start(ctx, name, tracing.SpanKindUnspecified)
	}
	ctx, span := t.traces.Call(ctx)
	own := callSpan{span}
	return tracing.ContextWithSpan(ctx, own), own
}

// callSpan keeps of what mcp-go says what is no text of the agent's or its client's.
type callSpan struct{ span traces.CallSpan }

func (s callSpan) SetAttributes(attributes ...tracing.Attribute) {
	for _, a := range attributes {
		if a.Key == "mcp.tool.name" {
			s.span.Tool(a.Value)
		}
	}
}

func (callSpan) RecordError(error) {}

func (s callSpan) SetStatus(code tracing.StatusCode, _ string) {
	if code == tracing.StatusError {
		s.span.Fail()
	}
}

func (s callSpan) End() { s.span.End() }

// traceContext carries spans in the metadata of requests, in both directions.
type traceContext struct{}

func (traceContext) ExtractMeta(ctx context.Context, _ *mcp.Meta) context.Context {
	return traces.Extract(ctx, transport.CallerFrom(ctx).Trace.Fields())
}

func (traceContext) InjectMeta(ctx context.Context, meta *mcp.Meta) *mcp.Meta {
	for name, value := range traces.Inject(ctx) {
		if meta == nil {
			meta = &mcp.Meta{}
		}
		if meta.AdditionalFields == nil {
			meta.AdditionalFields = map[string]any{}
		}
		meta.AdditionalFields[name] = value
	}
	return meta
}
