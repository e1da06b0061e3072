package tools

import (
	"fmt"
	"strings"

	"github.com/dustin/go-humanize"

	"understudy/internal/phrase"
	"understudy/sessions"
	"understudy/tools/answer"
)

// listed describes the interpreters, one a line. farewell says what became of
// the client's default one, if it was ended.
func listed(all []sessions.Listing, farewell string, budget int) reply {
	if all == nil {
		all = []sessions.Listing{}
	}
	record := map[string]any{"interpreters": all}
	if farewell != "" {
		record["ended"] = farewell
	}
	switch {
	case len(all) == 0 && farewell == "":
		return reply{"You have no interpreter yet; run_python_code makes your default one.", record}
	case len(all) == 0:
		return reply{sentence("you have no interpreter: " + farewell), record}
	}
	lines := []string{phrase.Count(len(all), "interpreter") + ":"}
	for _, l := range all {
		lines = append(lines, listingLine(l))
		if l.InitError != "" {
			lines = append(lines, initError(l))
		}
	}
	if line := walled(all); line != "" {
		lines = append(lines, line)
	}
	if farewell != "" {
		lines = append(lines, sentence(farewell))
	}
	text, _ := answer.Cut(strings.Join(lines, "\n"), budget, 0)
	return reply{text, record}
}

// walled says in a line what confines the interpreters: the server has one wall for
// all. Those whose process has ended, or has not begun, say nothing of it.
func walled(all []sessions.Listing) string {
	for _, l := range all {
		if l.Sandbox != nil {
			return fmt.Sprintf("All are in the sandbox: %s (%s), %s.", l.Sandbox.Mode, strings.Join(l.Sandbox.Layers, ", "), network(l.Sandbox))
		}
	}
	return ""
}

// network says what code in the sandbox may connect to.
func network(w *sessions.Wall) string {
	switch {
	case len(w.Network) == 0:
		return "no network"
	case w.Network[0] == sessions.NetworkAll:
		return "with network"
	}
	return "network to " + answer.SomeNames(w.Network, 0) + " only"
}

// listingLine describes an interpreter by what a model can use; the record has the rest.
func listingLine(l sessions.Listing) string {
	name := l.ID
	if l.Default {
		name += " (default)"
	}
	facts := []string{activity(l)}
	if l.Running == 0 {
		facts = append(facts, phrase.Count(l.Executions, "run"))
	}
	if l.Ended == "" && l.Running == 0 && l.Status != "starting" {
		facts = append(facts, "idle "+answer.ShortAge(sessions.SecondsOf(l.Idle)))
	}
	if l.Failures > 0 {
		facts = append(facts, failures(l.Failures))
	}
	if l.Waiting > 0 {
		facts = append(facts, phrase.Count(l.Waiting, "call")+" waiting")
	}
	if l.Unfetched > 0 {
		facts = append(facts, phrase.Count(l.Unfetched, "answer")+" not fetched")
	}
	if l.Printed > 0 {
		facts = append(facts, "printed something since (operation wait shows it)")
	}
	if l.Parent != "" {
		facts = append(facts, "branch of "+l.Parent)
	}
	if l.Python != "" {
		facts = append(facts, "Python "+l.Python)
	}
	if l.Memory > 0 {
		facts = append(facts, humanize.Bytes(l.Memory))
	}
	if len(l.SessionVariables) > 0 {
		facts = append(facts, "session variables "+quoted(l.SessionVariables))
	}
	if l.Uncopied {
		facts = append(facts, "no copy while it is idle: if its process ended now, what the last run did to its variables would be lost")
	}
	if l.Ended == "" && !l.Recoverable { // it comes last: the reason may be long
		facts = append(facts, "not recoverable: "+answer.Clip(l.Obstacle, 500))
	}
	return name + ": " + strings.Join(facts, ", ")
}

// failures says how many runs have failed one after another.
func failures(n int) string {
	if n == 1 {
		return "the last run failed"
	}
	return fmt.Sprintf("the last %d runs failed", n)
}

// activity says what an interpreter does now.
func activity(l sessions.Listing) string {
	switch {
	case l.Ended != "":
		return answer.Clip(l.Ended, 700)
	case l.Prompt != "":
		return fmt.Sprintf("run %d asks %q", l.Running, answer.Clip(answer.OneLine(l.Prompt), 60))
	case l.Running > 0:
		return fmt.Sprintf("busy with run %d", l.Running)
	case l.Status == "starting":
		return "starting for " + answer.ShortAge(sessions.SecondsOf(l.Idle))
	default:
		return l.Status
	}
}

// place is Python's version and the directory it works in.
func place(l sessions.Listing) string {
	if l.Python == "" {
		return "working directory " + l.Workdir
	}
	return "Python " + l.Python + ", working directory " + l.Workdir
}

// initError tells of the operator's start-up code that failed: what it should
// have defined is missing.
func initError(l sessions.Listing) string {
	if l.InitError == "" {
		return ""
	}
	trace, _ := answer.Cut(strings.TrimSpace(l.InitError), 4000, 0)
	return "[note] the start-up code (--init-code) failed:\n" + trace
}

// sentence gives a message a capital and a full stop.
func sentence(text string) string {
	if text == "" {
		return text
	}
	return strings.TrimRight(strings.ToUpper(text[:1])+text[1:], ".") + "."
}

// notes puts what a reader should know one below the other.
func notes(all []string) string {
	lines := make([]string, len(all))
	for i, note := range all {
		lines[i] = "[note] " + answer.Clip(answer.OneLine(note), 2000)
	}
	return strings.Join(lines, "\n")
}
