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

// search returns the tools that words are about, the best first.
func (s *Servers) search(text string) map[string]any {
	words := strings.Fields(strings.ToLower(clip(text, 1000)))
	all := []found{}
	for _, one := range s.all {
		one.mu.Lock()
		tools := one.tools
		one.mu.Unlock()
		for _, t := range tools {
			score := t.score(words, strings.ToLower(one.name+" "+one.description))
			if score > 0 && s.permission(one, t) != denied {
				all = append(all, found{one.name, one.module, t.name, t.function, summary(t), score})
			}
		}
	}
	slices.SortStableFunc(all, func(a, b found) int { return cmp.Compare(b.score, a.score) })
	shown := all[:min(len(all), searchLimit)]
	return map[string]any{"tools": shown, "left_out": len(all) - len(shown)}
}

// score is 0 where no word is found; a name counts more than what is said of it.
func (t *tool) score(words []string, server string) (score int) {
	name := strings.ToLower(t.name)
	said := strings.ToLower(t.title + " " + t.description)
	if len(words) == 0 {
		return 1
	}
	for _, word := range words {
		switch {
		case word == name || word == strings.ToLower(t.function):
			score += 100
		case strings.Contains(name, word):
			score += 10
		case strings.Contains(said, word):
			score += 3
		case strings.Contains(server, word):
			score++
		}
	}
	return score
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
