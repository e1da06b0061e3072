package upstream

import (
	"cmp"
	"slices"
	"strings"
)

// searchLimit is how many tools a search returns.
const searchLimit = 20

// A found tool is one that a search returns.
type found struct {
	Server   string `json:"server"`
	Module   string `json:"module"`
	Name     string `json:"name"`
	Function string `json:"function"`
	Summary  string `json:"summary"`
	score    int
}

// search returns the tools that have all of the words, or where none has, some of them;
// the best first.
func (s *Servers) search(text string) map[string]any {
	words := strings.Fields(strings.ToLower(clip(text, 1000)))
	all, whole := []found{}, []found{}
	for _, one := range s.all {
		one.mu.Lock()
		tools := one.tools
		one.mu.Unlock()
		for _, t := range tools {
			hits, score := t.rate(words, strings.ToLower(one.name))
			if hits == 0 && len(words) > 0 || s.permission(one, t) == denied {
				continue
			}
			all = append(all, found{one.name, one.module, t.name, t.function, summary(t), score})
			if hits == len(words) {
				whole = append(whole, all[len(all)-1])
			}
		}
	}
	if len(whole) > 0 {
		all = whole
	}
	slices.SortStableFunc(all, func(a, b found) int { return cmp.Compare(b.score, a.score) })
	shown := all[:min(len(all), searchLimit)]
	return map[string]any{"tools": shown, "left_out": len(all) - len(shown)}
}

// rate says how many of the words a tool has, and how well: a name counts more than what
// is said of it.
func (t *tool) rate(words []string, server string) (hits, score int) {
	places := []struct {
		text  string
		worth int
	}{
		{strings.ToLower(t.name + " " + t.function), 10},
		{server, 5},
		{strings.ToLower(t.title + " " + summary(t)), 3},
		{strings.ToLower(t.description), 1},
	}
	for _, word := range words {
		before := score
		for _, place := range places {
			if strings.Contains(place.text, word) {
				score += place.worth
			}
		}
		if strings.EqualFold(word, t.name) || strings.EqualFold(word, t.function) {
			score += 100
		}
		if score > before {
			hits++
		}
	}
	return hits, score
}

// summary is the first line of what a server says of a tool.
func summary(t *tool) string {
	for line := range strings.Lines(t.description) {
		if line = strings.TrimSpace(line); line != "" {
			return clip(line, 120)
		}
	}
	return t.title
}
