package upstream

import (
	"cmp"
	"slices"
	"strings"
)

// mostFound is how many tools a search names.
const mostFound = 20

type found struct {
	Server   string `json:"server"`
	Module   string `json:"module"`
	Name     string `json:"name"`
	Function string `json:"function"`
	Summary  string `json:"summary"`
	score    int
}

// search returns the tools that have all of the words, or where none has, some of them; the
// best first, those with a word in their name.
func search(all []found, descriptions []string, text string) (best []found, leftOut int) {
	words := strings.Fields(strings.ToLower(text))
	for _, needed := range []int{len(words), 1} {
		best = nil
		for i, tool := range all {
			if hits := tool.rate(descriptions[i], words); hits >= needed {
				best = append(best, tool)
			}
		}
		if len(best) > 0 {
			break
		}
	}
	slices.SortStableFunc(best, func(a, b found) int { return cmp.Compare(b.score, a.score) })
	leftOut = max(0, len(best)-mostFound)
	return best[:len(best)-leftOut], leftOut
}

// rate says how many of the words a tool has, and keeps how well.
func (f *found) rate(description string, words []string) (hits int) {
	for _, word := range words {
		score := 0
		for _, place := range []struct {
			text  string
			worth int
		}{{f.Function, 10}, {f.Server, 5}, {f.Summary, 3}, {description, 1}} {
			if strings.Contains(strings.ToLower(place.text), word) {
				score += place.worth
			}
		}
		if strings.EqualFold(f.Function, word) || strings.EqualFold(f.Name, word) {
			score += 100
		}
		if score > 0 {
			hits++
		}
		f.score += score
	}
	return hits
}
