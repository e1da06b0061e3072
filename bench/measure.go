package main

import (
	"fmt"
	"slices"
	"time"
)

// contender is one of those that are measured side by side; measure gives one
// value of a round.
type contender struct {
	name    string
	measure func() (float64, error)
}

// rounds measures all contenders in turns, after one round that only warms up,
// and returns the values of each. The order turns round with every round.
func rounds(n int, contenders []contender) ([]values, error) {
	all := make([]values, len(contenders))
	for round := range n + 1 {
		for i := range contenders {
			if round%2 == 1 {
				i = len(contenders) - 1 - i
			}
			value, err := contenders[i].measure()
			if err != nil {
				return nil, fmt.Errorf("%s: %w", contenders[i].name, err)
			}
			if round > 0 {
				all[i] = append(all[i], value)
			}
		}
	}
	return all, nil
}

// burst makes calls one after the other and returns their median.
func burst(calls int, call func() (float64, error)) (float64, error) {
	all := make(values, calls)
	for i := range all {
		var err error
		if all[i], err = call(); err != nil {
			return 0, err
		}
	}
	return all.median(), nil
}

// pause is the time between the calls of a paced burst: longer than what the
// server does after a call, shorter than what any agent needs for the next.
const pause = 20 * time.Millisecond

// paced makes calls with pauses between and returns their median.
func paced(calls int, call func() (float64, error)) (float64, error) {
	return burst(calls, func() (float64, error) {
		time.Sleep(pause)
		return call()
	})
}

// values are measurements of one thing.
type values []float64

func (v values) median() float64 {
	sorted := slices.Sorted(slices.Values(v))
	middle := len(sorted) / 2
	if len(sorted)%2 == 1 {
		return sorted[middle]
	}
	return (sorted[middle-1] + sorted[middle]) / 2
}

// ratios divides values that were measured in the same rounds.
func ratios(a, b values) values {
	all := make(values, len(a))
	for i := range a {
		all[i] = a[i] / b[i]
	}
	return all
}

// differences subtracts values that were measured in the same rounds.
func differences(a, b values) values {
	all := make(values, len(a))
	for i := range a {
		all[i] = a[i] - b[i]
	}
	return all
}

// share returns the value that so large a share of all does not exceed.
func (v values) share(part float64) float64 {
	sorted := slices.Sorted(slices.Values(v))
	return sorted[min(len(sorted)-1, int(part*float64(len(sorted))))]
}

func (v values) least() float64 { return slices.Min(v) }

func (v values) most() float64 { return slices.Max(v) }

// unit writes values; scale, the median of a row, chooses how, so that a
// median and its range are written alike.
type unit func(value, scale float64) string

func speed(v, scale float64) string { return size(v, scale) + "/s" }

func rate(v, _ float64) string { return fmt.Sprintf("%.0f/s", v) }

// seconds writes a time.
func seconds(v, scale float64) string {
	switch {
	case scale >= 1:
		return fmt.Sprintf("%.2f s", v)
	case scale >= 0.01:
		return fmt.Sprintf("%.0f ms", v*1e3)
	case scale >= 0.001:
		return fmt.Sprintf("%.2f ms", v*1e3)
	default:
		return fmt.Sprintf("%.0f µs", v*1e6)
	}
}

// size writes bytes; a megabyte is a million of them.
func size(v, scale float64) string {
	if scale >= 1e9 {
		return fmt.Sprintf("%.2f GB", v/1e9)
	}
	if scale >= 100e6 {
		return fmt.Sprintf("%.0f MB", v/1e6)
	}
	return fmt.Sprintf("%.1f MB", v/1e6)
}

// compare says in words how a value stands to a reference.
func compare(value, reference float64) string {
	if value < reference {
		return factor(reference/value) + " less"
	}
	return factor(value/reference) + " more"
}

func factor(f float64) string {
	if f >= 10 {
		return fmt.Sprintf("%.0f×", f)
	}
	return fmt.Sprintf("%.2f×", f)
}
