package plugins

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

const (
	mostLines = 20   // plugins of which a summary has a line
	mostLine  = 200  // bytes of such a line
	mostWords = 2000 // bytes of all of them
	mostNames = 500  // bytes of the names of others
)

// Summary tells a model which plugins there are, in few words; "" when there are
// none.
func Summary(s Set) string {
	ready, broken := s.Ready(), s.in(Broken)
	if len(ready)+len(broken) == 0 {
		return ""
	}
	var b strings.Builder
	if len(ready) > 0 {
		b.WriteString("Plugins, functions that code can call as they are (help(name) tells more):\n")
	}
	shown := 0
	for _, p := range ready[:min(len(ready), mostLines)] {
		line := clipTo("- "+p.Name+clipTo(p.Signature, mostLine/2)+": "+p.Headline(), mostLine)
		if b.Len()+len(line) > mostWords {
			break
		}
		b.WriteString(line + "\n")
		shown++
	}
	if rest := ready[shown:]; len(rest) > 0 {
		fmt.Fprintf(&b, "- and %d more, which search_plugins(\"words of what you need\") finds: %s\n", len(rest), names(rest))
	}
	if len(broken) > 0 {
		fmt.Fprintf(&b, "Broken plugins (a call says why): %s\n", names(broken))
	}
	return strings.TrimSpace(b.String())
}

func names(plugins []Plugin) string {
	all := make([]string, len(plugins))
	for i, p := range plugins {
		all[i] = clip(p.Name)
	}
	return clipTo(strings.Join(all, ", "), mostNames)
}

// firstSentence is what stands in lists.
func firstSentence(text string) string {
	text = oneLine(text)
	if end := strings.Index(text, ". "); end >= 0 {
		return text[:end+1]
	}
	return text
}

// clipTo cuts a text to at most so many bytes.
func clipTo(text string, most int) string {
	if len(text) <= most {
		return text
	}
	most -= len("…")
	for most > 0 && !utf8.RuneStart(text[most]) {
		most--
	}
	return text[:most] + "…"
}
