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

	live, running, waiting, unfetched, clients, memory, private, starts, failures *prometheus.Desc
}

func newGauges(stats func(context.Context) sessions.Stats) *gauges {
	describe := func(name, help string, labels ...string) *prometheus.Desc {
		return prometheus.NewDesc(prometheus.BuildFQName(namespace, "", name), help, labels, nil)
	}
	return &gauges{
		stats:     stats,
		live:      describe("interpreters", "Interpreters that are alive."),
		running:   describe("interpreters_running", "Interpreters that run code."),
		waiting:   describe("calls_waiting", "Calls that wait for an interpreter's turn."),
		unfetched: describe("results_unfetched", "Results that nobody has collected yet."),
		clients:   describe("clients", "Clients that have an interpreter."),
		memory:    describe("interpreters_resident_bytes", "Resident memory of all interpreters; what they share counts for each."),
		private:   describe("interpreters_private_bytes", "Memory of all interpreters and their copies that no other process shares."),
		starts:    describe("interpreter_starts_total", "Interpreters that started, by what they were made from.", "from"),
		failures:  describe("interpreter_start_failures_total", "Starts that gave no interpreter."),
	}
}

// Describe tells what Collect tells of.
func (g *gauges) Describe(all chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{g.live, g.running, g.waiting, g.unfetched, g.clients, g.memory, g.private, g.starts, g.failures} {
		all <- d
	}
}

// statsTime bounds what a scrape waits for.
const statsTime = 5 * time.Second

// Collect asks how the sessions stand.
func (g *gauges) Collect(all chan<- prometheus.Metric) {
	ctx, cancel := context.WithTimeout(context.Background(), statsTime)
	defer cancel()
	s := g.stats(ctx)
	tell := func(d *prometheus.Desc, kind prometheus.ValueType, value float64, labels ...string) {
		all <- prometheus.MustNewConstMetric(d, kind, value, labels...)
	}
	tell(g.live, prometheus.GaugeValue, float64(s.Sessions))
	tell(g.running, prometheus.GaugeValue, float64(s.Running))
	tell(g.waiting, prometheus.GaugeValue, float64(s.Waiting))
	tell(g.unfetched, prometheus.GaugeValue, float64(s.Unfetched))
	tell(g.clients, prometheus.GaugeValue, float64(s.Clients))
	tell(g.memory, prometheus.GaugeValue, float64(s.Memory))
	tell(g.private, prometheus.GaugeValue, float64(s.Private))
	for origin, n := range s.Starts {
		tell(g.starts, prometheus.CounterValue, float64(n), origin)
	}
	tell(g.failures, prometheus.CounterValue, float64(s.FailedStarts))
}
