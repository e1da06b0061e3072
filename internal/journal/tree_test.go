package journal

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
)

// trial makes a trial: its id is its number too. A metric below -90 stands for none.
func trial(id, parent int64, metric float64, maximize, buggy bool) Execution {
	t := &Trial{Number: int(id), Parent: parent, MetricName: "score", Maximize: maximize, Buggy: buggy}
	if metric > -90 {
		t.Metric = &metric
	}
	return Execution{ID: id, Trial: t}
}

const none = -99

func TestBest(t *testing.T) {
	for _, test := range []struct {
		what   string
		trials []Execution
		want   int64 // 0 for none
	}{
		{"nothing", nil, 0},
		{"no trial", []Execution{{ID: 1}}, 0},
		{"most", []Execution{trial(1, 0, 1, true, false), trial(2, 0, 3, true, false), trial(3, 0, 2, true, false)}, 2},
		{"least", []Execution{trial(1, 0, 2, false, false), trial(2, 0, -3, false, false), trial(3, 0, 2, false, false)}, 2},
		{"the first wins a tie", []Execution{trial(1, 0, 1, true, false), trial(2, 0, 1, true, false)}, 1},
		{"the first by its number, in any order", []Execution{trial(2, 0, 1, true, false), trial(1, 0, 1, true, false)}, 1},
		{"none is the worst", []Execution{trial(1, 0, none, true, false), trial(2, 0, -5, true, false)}, 2},
		{"only none", []Execution{trial(1, 0, none, true, false)}, 0},
		{"buggy never", []Execution{trial(1, 0, 9, true, true), trial(2, 0, 1, true, false)}, 2},
		{"the direction of the first", []Execution{trial(1, 0, 5, false, false), trial(2, 0, 9, true, false), trial(3, 0, 4, false, false)}, 3},
		{"a buggy one sets none", []Execution{trial(1, 0, none, false, true), trial(2, 0, 9, true, false), trial(3, 0, 4, true, false)}, 2},
	} {
		got := int64(0)
		if best := Best(test.trials); best != nil {
			got = best.ID
		}
		expect(t, got == test.want, "%s: %d, want %d", test.what, got, test.want)
	}
}

func drawn(nodes []*Node) string {
	var parts []string
	for _, n := range nodes {
		part := fmt.Sprint(n.ID)
		if n.Best {
			part += "*"
		}
		if len(n.Children) > 0 {
			part += "(" + drawn(n.Children) + ")"
		}
		parts = append(parts, part)
	}
	return strings.Join(parts, " ")
}

func TestTrees(t *testing.T) {
	plain := func(id, parent int64) Execution { return Execution{ID: id, Parent: parent} }
	tried := func(id, parent, state int64, metric float64) Execution {
		e := trial(id, parent, metric, true, metric < 0)
		e.Parent = state
		return e
	}
	// 1 prepares; 2 and 3 are drafts in branches of it; 4 crashes and is tried again by 5.
	all := []Execution{plain(1, 0), tried(2, 0, 1, 0.5), tried(3, 0, 1, 0.6), tried(4, 3, 3, none), tried(5, 4, 3, 0.7), plain(6, 5), plain(9, 8)}
	rand.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	got, want := drawn(Trials(all).Roots), "2 3(4(5*))"
	expect(t, got == want, "trials: %s, want %s", got, want)
	if got, want := drawn(States(all).Roots), "1(2 3(4 5*(6))) 9"; got != want {
		t.Errorf("states: %s, want %s", got, want)
	}
	expect(t, Trials(nil).Best == nil && Trials(all).Best.ID == 5, "the best is not where it should be")
}
