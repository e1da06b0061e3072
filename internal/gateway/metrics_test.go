package gateway

import (
	"testing"

	"github.com/prometheus/client_golang/prometheus"
)

// gather returns what a scrape shows, by name and state; of a histogram its count.
func gather(t *testing.T, g *Gateway) map[string]float64 {
	t.Helper()
	registry := prometheus.NewRegistry()
	must(t, registry.Register(g))
	families, err := registry.Gather()
	must(t, err)
	values := map[string]float64{}
	for _, family := range families {
		for _, metric := range family.GetMetric() {
			name := family.GetName()
			for _, label := range metric.GetLabel() {
				name += " " + label.GetValue()
			}
			values[name] = metric.GetGauge().GetValue() + metric.GetCounter().GetValue() + float64(metric.GetHistogram().GetSampleCount())
		}
	}
	return values
}
