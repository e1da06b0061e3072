package policy

import (
	"fmt"
	"strings"

	"understudy/internal/phrase"
	"understudy/sessions"
)

// How much of a refusal is told: an agent mends a few places at a time, and the
// answer has its limits.
const (
	mostTold    = 40
	longestLine = 160   // characters of a violation's source
	longestText = 9_000 // characters in all
)

// wording is how a refusal speaks of what was to run.
type wording struct{ noun, unchanged, instead string }

func wordingOf(kind sessions.Kind) wording {
	const again = "Write it without these, and run all of it again; other spellings of the same are refused too."
	switch kind {
	case sessions.RunsCommand:
		return wording{"command", "", again}
	case sessions.RunsInstall:
		return wording{"installation", "", "Do with the packages that are there or may be installed."}
	}
	return wording{"code", " and no variable has changed", again}
}

// refusal tells the agent what is against the policy, and where.
func refusal(kind sessions.Kind, violations []Violation) error {
	var b strings.Builder
	violations, more := counted(violations)
	words, things, verb := wordingOf(kind), phrase.Count(len(violations), "thing"), "is"
	if len(violations) > 1 || more != "" {
		verb = "are"
	}
	if more != "" {
		things = "more than " + things
	}
	fmt.Fprintf(&b, "Not run: %s in the %s %s against the policy of this server.\n", things, words.noun, verb)
	told := 0
	for _, v := range violations {
		line := v.describe(kind)
		if told == mostTold || b.Len()+len(line) > longestText {
			break
		}
		b.WriteString(line)
		told++
	}
	switch rest := len(violations) - told; {
	case rest > 0 && more != "":
		fmt.Fprintf(&b, "… and more than %d more\n", rest)
	case rest > 0:
		fmt.Fprintf(&b, "… and %d more\n", rest)
	case more != "":
		fmt.Fprintf(&b, "… %s\n", more)
	}
	b.WriteString("Nothing has run" + words.unchanged + ". " + words.instead)
	return &sessions.Error{Code: sessions.CodeRefused, Message: b.String()}
}

// counted takes off a last violation that stands for more of them, and returns what
// it says.
func counted(violations []Violation) (_ []Violation, more string) {
	last := len(violations) - 1
	if last > 0 && violations[last].Rule == ruleOfMore {
		return violations[:last], violations[last].Message
	}
	return violations, ""
}

// describe is one violation as a line of text.
func (v Violation) describe(kind sessions.Kind) string {
	place := fmt.Sprintf("line %d, column %d", v.Line, v.Column)
	if kind == sessions.RunsCommand && v.Line <= 1 {
		place = fmt.Sprintf("column %d", v.Column)
	}
	if source := strings.TrimSpace(v.Source); source != "" {
		place += ": " + cut(source, longestLine)
	}
	text := place + " — " + cut(v.Rule, longestLine)
	if kind == sessions.RunsInstall { // the line is not the agent's
		text = cut(v.Rule, longestLine)
	}
	if v.Message != "" {
		text += ": " + v.Message
	}
	return strings.ReplaceAll(text, "\n", " ") + "\n"
}

// cut shortens a text to so many characters.
func cut(text string, most int) string {
	n := 0
	for i := range text {
		if n == most {
			return text[:i] + "…"
		}
		n++
	}
	return text
}

// unreadable refuses a file that Python might read in another way than the checker.
func unreadable(why string) error {
	return sessions.Errorf(sessions.CodeRefused, "It could not be checked against the policy of this server: %s.", why)
}

// unchecked refuses code whose check came to nothing.
func unchecked(why string) error {
	return sessions.Errorf(sessions.CodeRefused,
		"Not run: the code could not be checked against the policy of this server: %s. Nothing has run. Split it into smaller and simpler parts, and keep large data in files that the code reads.", why)
}
