package app

import (
	"context"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"
	"github.com/mark3labs/mcp-go/tracing"

	"understudy/internal/traces"
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

func (traceContext) ExtractMeta(ctx context.Context, meta *mcp.Meta) context.Context {
	if meta == nil {
		return ctx
	}
	fields := map[string]string{}
	for _, name := range []string{"traceparent", "tracestate"} {
		if value, ok := meta.AdditionalFields[name].(string); ok {
			fields[name] = value
		}
	}
	return traces.Extract(ctx, fields)
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
