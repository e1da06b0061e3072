package tools

import (
	"fmt"
	"slices"
	"strings"

	"github.com/dustin/go-humanize"

	"understudy/internal/phrase"
	"understudy/sessions"
	"understudy/tools/answer"
)

// listed describes the interpreters, one a line. farewell says what became of
// the client's default one, if it was ended; more are lines about what else there is.
func listed(all []sessions.Listing, farewell string, budget int, more ...string) reply {
	record := map[string]any{"interpreters": append([]sessions.Listing{}, all...)} // never null
	if farewell != "" {
		record["ended"] = farewell
	}
	fit := func(lines ...string) reply {
		text, _ := answer.Cut(answer.Sections(append(lines, more...)...), budget, 0)
		return reply{text, record}
	}
	switch {
	case len(all) == 0 && farewell == "":
		return fit("You have no interpreter yet; run_python_code makes your default one.")
	case len(all) == 0:
		return fit(sentence("you have no interpreter: " + farewell))
	}
	lines, wall := []string{phrase.Count(len(all), "interpreter") + ":"}, ""
	for _, l := range all {
		lines = append(lines, listingLine(l), initError(l))
		// The server has one wall for all. Those whose process has ended, or has not begun,
		// say nothing of it.
		if w := l.Sandbox; w != nil {
			wall = fmt.Sprintf("All are in the sandbox: %s (%s), %s.", w.Mode, strings.Join(w.Layers, ", "), network(w))
		}
	}
	return fit(append(lines, wall, sentence(farewell))...)
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
	facts := []string{
		activity(l),
		word(l.Running == 0, phrase.Count(l.Executions, "run"), ""),
		word(l.Ended == "" && l.Running == 0 && l.Status != "starting", "idle "+idle(l), ""),
		word(l.Failures == 1, "the last run failed", ""),
		word(l.Failures > 1, fmt.Sprintf("the last %d runs failed", l.Failures), ""),
		word(l.Waiting > 0, phrase.Count(l.Waiting, "call")+" waiting", ""),
		word(l.Unfetched > 0, phrase.Count(l.Unfetched, "answer")+" not fetched", ""),
		word(l.Printed > 0, "printed something since (operation wait shows it)", ""),
		word(l.Parent != "", "branch of "+l.Parent, ""),
		word(l.Python != "", "Python "+l.Python, ""),
		word(l.Memory > 0, humanize.Bytes(l.Memory), ""),
		word(len(l.SessionVariables) > 0, "session variables "+quoted(l.SessionVariables), ""),
		word(l.Uncopied, "no copy while it is idle: if its process ended now, what the last run did to its variables would be lost", ""),
		word(l.Ended == "" && !l.Recoverable, "not recoverable: "+answer.Clip(l.Obstacle, 500), ""), // last: it may be long
	}
	facts = slices.DeleteFunc(facts, func(fact string) bool { return fact == "" })
	return l.ID + word(l.Default, " (default)", "") + ": " + strings.Join(facts, ", ")
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
		return "starting for " + idle(l)
	default:
		return l.Status
	}
}

func idle(l sessions.Listing) string { return answer.ShortAge(sessions.SecondsOf(l.Idle)) }

// place is Python's version and the directory it works in.
func place(l sessions.Listing) string {
	return word(l.Python != "", "Python "+l.Python+", ", "") + "working directory " + l.Workdir
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
