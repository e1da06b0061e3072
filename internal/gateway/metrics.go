package gateway

import (
	"github.com/prometheus/client_golang/prometheus"
)

const namespace = "understudy"

// claimMetrics count what becomes of claims.
type claimMetrics struct {
	ready prometheus.Histogram
	lost  prometheus.Counter
}

func newClaimMetrics() *claimMetrics {
	return &claimMetrics{
		ready: prometheus.NewHistogram(prometheus.HistogramOpts{
			Namespace: namespace, Name: "claim_ready_seconds", Help: "How long claims of this gateway took from being made to a pod that is ready.",
			Buckets: []float64{.025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30, 60},
		}),
		lost: prometheus.NewCounter(prometheus.CounterOpts{
			Namespace: namespace, Name: "pods_lost_total", Help: "Pods of clients that ended before their lease.",
		}),
	}
}

var (
	claimsDesc = prometheus.NewDesc(namespace+"_claims", "Claims of clients, by what they are: ready, waiting for a pod, or ending.", []string{"state"}, nil)
	callsDesc  = prometheus.NewDesc(namespace+"_calls_open", "Requests that this gateway has passed on or that wait for a pod, streams left out.", nil, nil)
)

// Describe tells what there is.
func (g *Gateway) Describe(all chan<- *prometheus.Desc) {
	all <- claimsDesc
	all <- callsDesc
	g.claims.metrics.ready.Describe(all)
	g.claims.metrics.lost.Describe(all)
}

// Collect tells how the claims stand.
func (g *Gateway) Collect(all chan<- prometheus.Metric) {
	states := map[string]int{"ready": 0, "waiting": 0, "ending": 0}
	for _, c := range g.claims.all() {
		switch {
		case c.ending:
			states["ending"]++
		case c.ready:
			states["ready"]++
		default:
			states["waiting"]++
		}
	}
	for state, n := range states {
		all <- prometheus.MustNewConstMetric(claimsDesc, prometheus.GaugeValue, float64(n), state)
	}
	g.mu.Lock()
	open := 0
	for _, n := range g.calls {
		open += n
	}
	g.mu.Unlock()
	all <- prometheus.MustNewConstMetric(callsDesc, prometheus.GaugeValue, float64(open))
	g.claims.metrics.ready.Collect(all)
	g.claims.metrics.lost.Collect(all)
}
