package metrics

import (
	"context"
	"log/slog"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"understudy/sessions"
)

// Options say what is counted.
type Options struct {
	// Version is told as a label of understudy_build_info.
	Version string
	// Stats tells how the sessions stand; it is asked at each scrape.
	Stats  func(context.Context) sessions.Stats
	Also   []prometheus.Collector // what else is counted
	Logger *slog.Logger
}

// Metrics are the counters of one server.
type Metrics struct {
	registry *prometheus.Registry
	log      *slog.Logger

	calls        *prometheus.CounterVec
	callSeconds  *prometheus.HistogramVec
	refused      *prometheus.CounterVec
	executions   *prometheus.CounterVec
	runSeconds   prometheus.Histogram
	deaths       *prometheus.CounterVec
	startSeconds *prometheus.HistogramVec
	requests     *prometheus.CounterVec
	bytesOut     *prometheus.CounterVec
	reqSeconds   *prometheus.HistogramVec
	toolCalls    *prometheus.CounterVec
	toolFailures prometheus.Counter

	serversMu sync.Mutex
	servers   map[string]bool // that toolCalls has as labels
}

// Calls take from a millisecond to the minute at which clients give up, runs
// up to a day.
var (
	callBuckets  = []float64{.001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30, 60}
	runBuckets   = []float64{.001, .01, .1, 1, 10, 60, 600, 3600, 86400}
	startBuckets = []float64{.001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30}
)

// New returns Metrics that have counted nothing.
func New(o Options) *Metrics {
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	m := &Metrics{
		registry:     prometheus.NewRegistry(),
		log:          o.Logger,
		calls:        counter("calls_total", "Calls of tools, by what became of them.", "tool", "operation", "outcome"),
		callSeconds:  histogram("call_duration_seconds", "How long calls of tools took.", callBuckets, "tool", "outcome"),
		refused:      counter("refused_total", "Calls that did nothing, by the reason.", "code"),
		executions:   counter("executions_total", "Runs of code that came to an end, by how.", "status"),
		deaths:       counter("interpreter_deaths_total", "Interpreters whose process died or was killed and had to be replaced, by the run's status and whether the variables came back.", "status", "restored"),
		startSeconds: histogram("interpreter_start_duration_seconds", "How long fresh interpreters took to start, by what they were made from.", startBuckets, "from"),
		requests:     counter("http_requests_total", "HTTP requests.", "route", "method", "status"),
		bytesOut:     counter("http_response_bytes_total", "Bytes of HTTP answers, headers left out.", "route"),
		reqSeconds:   histogram("http_request_duration_seconds", "How long HTTP requests took, streams left out.", callBuckets, "route"),
		toolCalls:    counter("tool_calls_total", "Calls of other MCP servers' tools that code made, by server.", "server"),
		toolFailures: prometheus.NewCounter(prometheus.CounterOpts{
			Namespace: namespace, Name: "tool_calls_failed_total", Help: "Calls of other MCP servers' tools that failed or were refused.",
		}),
		servers: map[string]bool{},
		runSeconds: prometheus.NewHistogram(prometheus.HistogramOpts{
			Namespace: namespace, Name: "execution_duration_seconds", Help: "How long code ran.", Buckets: runBuckets,
		}),
	}
	build := prometheus.NewGauge(prometheus.GaugeOpts{
		Namespace: namespace, Name: "build_info", Help: "Always 1; the version is a label.",
		ConstLabels: prometheus.Labels{"version": o.Version},
	})
	build.Set(1)
	m.registry.MustRegister(
		m.calls, m.callSeconds, m.refused, m.executions, m.runSeconds, m.deaths, m.startSeconds,
		m.requests, m.bytesOut, m.reqSeconds, m.toolCalls, m.toolFailures, build,
		collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}),
	)
	m.registry.MustRegister(o.Also...)
	if o.Stats != nil {
		m.registry.MustRegister(&gauges{o.Stats})
	}
	return m
}

const namespace = "understudy"

func counter(name, help string, labels ...string) *prometheus.CounterVec {
	return prometheus.NewCounterVec(prometheus.CounterOpts{Namespace: namespace, Name: name, Help: help}, labels)
}

func histogram(name, help string, buckets []float64, labels ...string) *prometheus.HistogramVec {
	return prometheus.NewHistogramVec(prometheus.HistogramOpts{Namespace: namespace, Name: name, Help: help, Buckets: buckets}, labels)
}

// Handler answers scrapes, a few at a time: each measures memory.
func (m *Metrics) Handler() http.Handler {
	return promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{
		MaxRequestsInFlight: 4, Timeout: 10 * time.Second, ErrorHandling: promhttp.ContinueOnError,
		ErrorLog: slog.NewLogLogger(m.log.Handler(), slog.LevelWarn),
	})
}

// Ended counts a run that came to an end.
func (m *Metrics) Ended(r sessions.Result) {
	m.executions.WithLabelValues(string(r.Status)).Inc()
	m.runSeconds.Observe(r.ExecTime)
	if r.ToolCalls != nil {
		m.countTools(r.ToolCalls)
	}
	if r.InterpreterRestarted {
		restored := r.StateRestored != nil && *r.StateRestored
		m.deaths.WithLabelValues(string(r.Status), strconv.FormatBool(restored)).Inc()
	}
}

// countTools counts the calls of other servers' tools that a run made.
func (m *Metrics) countTools(calls *sessions.ToolCalls) {
	for tool, n := range calls.ByTool {
		server, _, _ := strings.Cut(tool, ".")
		m.toolCalls.WithLabelValues(m.serverLabel(server)).Add(float64(n))
	}
	m.toolFailures.Add(float64(calls.Failed))
}

// mostServers is how many other servers are told apart: code may ask for any name.
const mostServers = 100

func (m *Metrics) serverLabel(server string) string {
	m.serversMu.Lock()
	defer m.serversMu.Unlock()
	if !m.servers[server] && len(m.servers) == mostServers {
		return otherValue
	}
	m.servers[server] = true
	return server
}

// Call counts a call of a tool that was answered. Outcome is a sessions.Status,
// a sessions.Code, "cancelled" or "fault".
func (m *Metrics) Call(tool, operation, outcome string, took time.Duration) {
	if !slices.Contains(Outcomes, outcome) {
		outcome = otherValue
	}
	m.calls.WithLabelValues(tool, operation, outcome).Inc()
	m.callSeconds.WithLabelValues(tool, outcome).Observe(took.Seconds())
	if slices.Contains(codes, outcome) {
		m.refused.WithLabelValues(outcome).Inc()
	}
}

// otherValue stands for what a client made up.
const otherValue = "other"

// codes are the outcomes of calls that did nothing.
var codes = []string{
	string(sessions.CodeBusy), string(sessions.CodeNotFound), string(sessions.CodeLimit), string(sessions.CodeRefused),
	string(sessions.CodeInvalid), string(sessions.CodeClosed), string(sessions.CodeStart),
}

// Outcomes are all that a call may come to.
var Outcomes = append([]string{
	string(sessions.StatusOK), string(sessions.StatusError), string(sessions.StatusTimeout), string(sessions.StatusInterrupted),
	string(sessions.StatusCrashed), string(sessions.StatusRunning), string(sessions.StatusAsking), "cancelled", "fault",
}, codes...)

// Start counts a fresh interpreter.
func (m *Metrics) Start(from string, took time.Duration) {
	m.startSeconds.WithLabelValues(from).Observe(took.Seconds())
}

// methods are those that anybody has a reason to send.
var methods = []string{http.MethodGet, http.MethodHead, http.MethodPost, http.MethodDelete, http.MethodOptions}

// Exchange is an HTTP request that was answered.
type Exchange struct {
	Route    string // the pattern that matched, "" for none
	Method   string
	Status   int
	Bytes    int64
	Duration time.Duration
	// Stream is true for an answer that stays open: its time means nothing.
	Stream bool
}

// Exchange counts an HTTP request.
func (m *Metrics) Exchange(x Exchange) {
	if x.Route == "" {
		x.Route = otherValue
	}
	if !slices.Contains(methods, x.Method) {
		x.Method = otherValue
	}
	m.requests.WithLabelValues(x.Route, x.Method, strconv.Itoa(x.Status)).Inc()
	m.bytesOut.WithLabelValues(x.Route).Add(float64(x.Bytes))
	if !x.Stream {
		m.reqSeconds.WithLabelValues(x.Route).Observe(x.Duration.Seconds())
	}
}
