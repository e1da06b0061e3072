package report

import (
	"fmt"
	"regexp"
	"strings"
)

var (
	markdownMarks = regexp.MustCompile("[\\\\`*_\\[\\]|~#$]")
	blanks        = regexp.MustCompile(`[\s\x{2028}\x{2029}]+`)
	backticks     = regexp.MustCompile("`+")
)

// inline is a text as one line of Markdown that shows just it, in table cells too.
func inline(text string) string {
	text = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;").Replace(readable(text))
	text = strings.TrimSpace(blanks.ReplaceAllString(text, " "))
	return markdownMarks.ReplaceAllString(text, `\$0`)
}

// inlineCode is a name as code within a line.
func inlineCode(text string) string {
	text = strings.TrimSpace(blanks.ReplaceAllString(text, " "))
	if strings.ContainsAny(text, "`|<") {
		return inline(text)
	}
	return "`" + text + "`"
}

// quoted is a text of several lines as it was written, without being read as Markdown.
func quoted(text string) string {
	if strings.TrimSpace(text) == "" {
		return ""
	}
	var lines []string
	for line := range strings.SplitSeq(strings.TrimSpace(plainEnds(text)), "\n") {
		lines = append(lines, strings.TrimRight("> "+inline(line), " "))
	}
	return strings.Join(lines, "\n") + "\n"
}

// fenced is a block of code, with a fence longer than any within it.
func fenced(language, text string) string {
	fence := "```"
	for _, run := range backticks.FindAllString(text, -1) {
		if len(run) >= len(fence) {
			fence = strings.Repeat("`", len(run)+1)
		}
	}
	return fmt.Sprintf("%s%s\n%s\n%s\n", fence, language, strings.TrimRight(text, "\n"), fence)
}

// cutLine shortens what stands in a line.
func cutLine(text string, characters int) string {
	if runes := []rune(text); len(runes) > characters {
		return strings.TrimSpace(string(runes[:characters-1])) + "…"
	}
	return text
}
