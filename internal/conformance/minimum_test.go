package conformance

import (
	"flag"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write down what passes now as what must pass")

// minimumFile has, for each server and era, the scenarios that must be run and how
// many of their checks must at least succeed. The suite itself passes a scenario
// that checks nothing, and does not miss one that it doesn't run.
const minimumFile = "minimum.json"

// successes counts the checks of each scenario that succeeded.
func successes(all map[string][]check) map[string]int {
	counts := map[string]int{}
	for scenario, checks := range all {
		counts[scenario] = 0
		for _, c := range checks {
			if c.Status == "SUCCESS" {
				counts[scenario]++
			}
		}
	}
	return counts
}

// atLeast fails the test if less succeeded than must, or if something may fail
// that was not run.
func (v verdict) atLeast(t *testing.T, name string) {
	t.Helper()
	all := map[string]map[string]int{}
	readJSON(t, minimumFile, &all)
	if *update {
		all[name] = v.successes
		writeJSON(t, minimumFile, all)
	}
	expect(t, len(all[name]) != 0, "%s says nothing of %s; run this test with -update", minimumFile, name)
	for _, scenario := range missed(v.successes, all[name]) {
		t.Errorf("of %s: %s had %d successes and needs %d", name, scenario, v.successes[scenario], all[name][scenario])
	}
	for _, entry := range exceptions(t, name) {
		scenario, _, _ := strings.Cut(entry, ":")
		_, ran := v.successes[scenario]
		expect(t, ran, "%s.yaml lists %s, and there is no scenario %s any more", name, entry, scenario)
	}
}

// missed are the scenarios that were not run, or had fewer successes than the
// least.
func missed(counts, least map[string]int) (scenarios []string) {
	for _, scenario := range slices.Sorted(maps.Keys(least)) {
		if n, ran := counts[scenario]; !ran || n < least[scenario] {
			scenarios = append(scenarios, scenario)
		}
	}
	return scenarios
}

// exceptions are the entries of a file of checks that may fail.
func exceptions(t *testing.T, name string) (entries []string) {
	t.Helper()
	text, err := os.ReadFile(testdata(name + ".yaml"))
	must(t, err)
	for line := range strings.Lines(string(text)) {
		if entry, is := strings.CutPrefix(strings.TrimSpace(line), "- "); is {
			entries = append(entries, entry)
		}
	}
	return entries
}

func TestMinimum(t *testing.T) {
	counts := successes(map[string][]check{
		"whole": {{Status: "SUCCESS"}, {Status: "SUCCESS"}, {Status: "INFO"}},
		"less":  {{Status: "SUCCESS"}, {Status: "FAILURE"}},
		"empty": {},
		"new":   {{Status: "SUCCESS"}},
	})
	got := missed(counts, map[string]int{"whole": 1, "less": 2, "empty": 1, "gone": 0})
	expect(t, slices.Equal(got, []string{"empty", "gone", "less"}), "%v", got)
	minimum := map[string]map[string]int{}
	readJSON(t, minimumFile, &minimum)
	for _, era := range eras {
		for _, name := range []string{"fixture-" + era, "understudy-" + era} {
			for _, entry := range exceptions(t, name) {
				scenario, _, _ := strings.Cut(entry, ":")
				_, known := minimum[name][scenario]
				expect(t, known, "%s.yaml lists %s, of which %s has nothing", name, entry, minimumFile)
			}
		}
	}
}
