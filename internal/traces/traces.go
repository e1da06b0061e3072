// Package traces sends spans to an OpenTelemetry collector, where the standard variables
// name one: of calls, of executions, of calls of other servers. A span says what was called,
// when, and how it ended, and never what was in it: no code, output, arguments or messages.
package traces

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"log/slog"
	"regexp"
	"time"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
	"golang.org/x/time/rate"

	"understudy/sessions"
)

// The names of attributes: those of the semantic conventions where these have one. The
// conventions' mcp.session.id is left out, which may be a key to the session.
const (
	methodKey    = attribute.Key("mcp.method.name")
	operationKey = attribute.Key("gen_ai.operation.name")
	toolKey      = attribute.Key("gen_ai.tool.name")
	errorKey     = attribute.Key("error.type")
	upstreamKey  = attribute.Key("understudy.upstream")
	idKey        = attribute.Key("understudy.interpreter_id")
	numberKey    = attribute.Key("understudy.execution")
	statusKey    = attribute.Key("understudy.status")
	secondsKey   = attribute.Key("understudy.seconds")
)

const callMethod = "tools/call"

// closeTime bounds what is sent at the end; what is left is dropped.
const closeTime = 2 * time.Second

// quiet is how long nothing is said of further spans that could not be sent.
const quiet = time.Minute

// Tracer begins spans.
type Tracer struct {
	provider *sdktrace.TracerProvider
	tracer   trace.Tracer
}

// Open returns a Tracer, or nil where no endpoint is configured. Settings that can't be
// used are logged: they are no reason not to serve.
func Open(version string, log *slog.Logger) *Tracer {
	s, err := read()
	if err != nil {
		log.Warn("no traces are sent", "error", err)
	}
	if s == nil {
		return nil
	}
	if s.protocol != "" && s.protocol != httpProtobuf {
		log.Warn("traces are sent by http/protobuf, the one protocol of OTLP that is spoken here; "+
			"the endpoint must be the collector's for HTTP, as a rule port 4318", "configured", s.protocol)
	}
	failures := rate.Sometimes{Interval: quiet}
	otel.SetErrorHandler(otel.ErrorHandlerFunc(func(err error) {
		failures.Do(func() { log.Warn("sending traces", "error", err) })
	}))
	from, err := resource.New(context.Background(),
		resource.WithAttributes(attribute.String("service.name", "understudy"), attribute.String("service.version", version)),
		resource.WithTelemetrySDK(), resource.WithFromEnv())
	if err != nil {
		otel.Handle(err)
	}
	exporter, err := otlptrace.New(context.Background(), newSender(s))
	if err != nil { // a sender's start never fails
		otel.Handle(err)
	}
	provider := sdktrace.NewTracerProvider(sdktrace.WithResource(from),
		sdktrace.WithBatcher(exporter, sdktrace.WithExportTimeout(s.timeout)))
	return &Tracer{provider: provider, tracer: provider.Tracer("understudy", trace.WithInstrumentationVersion(version))}
}

// Close sends what has ended, for 2 seconds at most.
func (t *Tracer) Close() {
	ctx, cancel := context.WithTimeout(context.Background(), closeTime)
	defer cancel()
	if err := t.provider.Shutdown(ctx); err != nil {
		otel.Handle(err)
	}
}

// Call begins the span of a client's call, whose tool is not known yet.
func (t *Tracer) Call(ctx context.Context) (context.Context, CallSpan) {
	ctx, span := t.tracer.Start(ctx, callMethod, trace.WithSpanKind(trace.SpanKindServer),
		trace.WithAttributes(methodKey.String(callMethod)))
	return ctx, CallSpan{span}
}

// CallSpan is the span of one call.
type CallSpan struct{ span trace.Span }

// Tool says which tool is called, one that there is.
func (c CallSpan) Tool(name string) {
	c.span.SetName(callMethod + " " + name)
	c.span.SetAttributes(operationKey.String("execute_tool"), toolKey.String(name))
}

// Fail says that the call is answered by an error, whose text is not for traces.
func (c CallSpan) Fail() { c.span.SetStatus(codes.Error, "") }

// End ends the span.
func (c CallSpan) End() { c.span.End() }

// Execution is a sessions.Options.Trace: it begins the span of an execution, in that of the
// call that began it, and puts it into the context of the execution's life. The span may
// end after that of the call.
func (t *Tracer) Execution(call, life context.Context, id string, number int) (context.Context, func(sessions.Result)) {
	_, span := t.tracer.Start(call, "execute", trace.WithAttributes(idKey.String(shown(id)), numberKey.Int(number)))
	return trace.ContextWithSpan(life, span), func(r sessions.Result) {
		span.SetAttributes(statusKey.String(string(r.Status)), secondsKey.Float64(r.ExecTime))
		if className.MatchString(r.ExcType) {
			span.SetAttributes(errorKey.String(r.ExcType))
		}
		// An exception is an outcome of the agent's code, and no failure of the server's.
		if r.Status == sessions.StatusCrashed || r.Status == sessions.StatusTimeout {
			span.SetStatus(codes.Error, "")
		}
		span.End()
	}
}

// className is how names of exceptions look; code may name a class as it likes.
var className = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_.]{0,99}$`)

// shown is an id without the key in it: the name, and a part of the id's hash, by which
// interpreters of the same name differ.
func shown(id string) string {
	hash := sha256.Sum256([]byte(id))
	end := hex.EncodeToString(hash[:6])
	if name := sessions.NameOf(id); name != id {
		return name + "-" + end
	}
	return end
}

// Upstream begins the span of a call of another server's tool, in that of the execution
// whose context it is given, and returns what ends it.
func (t *Tracer) Upstream(ctx context.Context, server, tool string) (context.Context, func(error)) {
	ctx, span := t.tracer.Start(ctx, callMethod+" "+tool, trace.WithSpanKind(trace.SpanKindClient),
		trace.WithAttributes(methodKey.String(callMethod), operationKey.String("execute_tool"),
			toolKey.String(tool), upstreamKey.String(server)))
	return ctx, func(err error) {
		if err != nil {
			span.SetStatus(codes.Error, "")
		}
		span.End()
	}
}

// Extract puts the span that fields name as W3C Trace Context into ctx; it is then the
// parent of what begins there.
func Extract(ctx context.Context, fields map[string]string) context.Context {
	return propagation.TraceContext{}.Extract(ctx, propagation.MapCarrier(fields))
}

// Inject returns the fields that name the span in ctx, none where there is none.
func Inject(ctx context.Context) map[string]string {
	fields := propagation.MapCarrier{}
	propagation.TraceContext{}.Inject(ctx, fields)
	return fields
}
