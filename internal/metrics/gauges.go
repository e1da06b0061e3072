package metrics

import (
	"context"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"understudy/sessions"
)

// gauges tell how the sessions stand when they are asked.
type gauges struct {
	stats func(context.Context) sessions.Stats
}

// Describe tells nothing: what there is follows from Collect.
func (g *gauges) Describe(chan<- *prometheus.Desc) {}

// statsTime bounds what a scrape waits for.
const statsTime = 5 * time.Second

// Collect asks how the sessions stand.
func (g *gauges) Collect(all chan<- prometheus.Metric) {
	ctx, cancel := context.WithTimeout(context.Background(), statsTime)
	defer cancel()
	tell := func(kind prometheus.ValueType, value float64, name, help string, labels prometheus.Labels) {
		desc := prometheus.NewDesc(prometheus.BuildFQName(namespace, "", name), help, nil, labels)
		all <- prometheus.MustNewConstMetric(desc, kind, value)
	}
	gauge := func(value float64, name, help string) { tell(prometheus.GaugeValue, value, name, help, nil) }
	s := g.stats(ctx)
	gauge(float64(s.Sessions), "interpreters", "Interpreters that are alive.")
	gauge(float64(s.Running), "interpreters_running", "Interpreters that run code.")
	gauge(float64(s.Waiting), "calls_waiting", "Calls that wait for an interpreter's turn.")
	gauge(float64(s.Unfetched), "results_unfetched", "Results that nobody has collected yet.")
	gauge(float64(s.Clients), "clients", "Clients that have an interpreter.")
	gauge(float64(s.Memory), "interpreters_resident_bytes", "Resident memory of all interpreters; what they share counts for each.")
	gauge(float64(s.Private), "interpreters_private_bytes", "Memory of all interpreters and their copies that no other process shares.")
	for origin, n := range s.Starts {
		tell(prometheus.CounterValue, float64(n), "interpreter_starts_total",
			"Interpreters that started, by what they were made from.", prometheus.Labels{"from": origin})
	}
	tell(prometheus.CounterValue, float64(s.FailedStarts), "interpreter_start_failures_total", "Starts that gave no interpreter.", nil)
}
