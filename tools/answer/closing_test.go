package answer

import (
	"math"
	"testing"
	"time"
)

func TestShortSpan(t *testing.T) {
	for d, want := range map[time.Duration]string{
		1250 * time.Millisecond: "1.2 s", 45 * time.Second: "45 s", 130 * time.Second: "130 s", 3 * time.Hour: "3 h",
	} {
		got := shortSpan(d)
		expect(t, got == want, "%s is written %s, not %s", d, got, want)
	}
}

func TestMetricText(t *testing.T) {
	for value, want := range map[float64]string{
		0: "0", math.Copysign(0, -1): "0", -5e-324: "-4.94066e-324", 1: "1", -3: "-3", 0.5: "0.5", 0.1 + 0.2: "0.3", 0.912345678: "0.912346", 2.0 / 3: "0.666667", 12.3456789: "12.3457",
		123456.789: "123457", 1234567.89: "1234568", 20_000: "20000", 1e15: "1e+15", 1.23456789e20: "1.23457e+20",
		0.000123456789: "0.000123457", 0.0000123456789: "1.23457e-05", -0.99999999: "-1", math.MaxFloat64: "1.79769e+308", 5e-324: "4.94066e-324",
	} {
		got := metricText(value)
		expect(t, got == want, "%v is written %s, not %s", value, got, want)
	}
}
