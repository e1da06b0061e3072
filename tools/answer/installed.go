package answer

import (
	"encoding/json"
	"fmt"
	"strings"

	"understudy/sessions"
)

const (
	mostInstalled   = 40 // packages that an answer names
	shownOfFailures = 30 // lines of pip's that an answer has when it failed
)

// installed is what an installation came to, as a worker says it.
type installed struct {
	Installed []struct {
		Name, Version string
		Before        string // the version that there was, if any
	}
}

// readable is a result as its text shows it. Of an installation that went well it has
// one line in the place of all that pip says, and of one that failed the end of it.
func readable(r *sessions.Result) *sessions.Result {
	if r.Kind != sessions.RunsInstall || r.Status.Runs() {
		return r
	}
	short := *r
	short.Result, short.ResultType, short.Pieces = nil, "", nil
	if r.Status != sessions.StatusOK {
		short.Stdout = lastLines(r.Stdout, shownOfFailures)
		return &short
	}
	short.Stdout, short.StdoutTruncated, short.OutputPath = installedLine(r.Result), 0, ""
	return &short
}

// installedLine tells which packages are there now that were not.
func installedLine(result json.RawMessage) string {
	var all installed
	if json.Unmarshal(result, &all) != nil || len(all.Installed) == 0 {
		return "Nothing was installed: what was asked for is there already."
	}
	var parts []string
	for i, p := range all.Installed {
		if i == mostInstalled {
			parts = append(parts, fmt.Sprintf("and %d more", len(all.Installed)-i))
			break
		}
		part := Clip(p.Name, 60) + " " + Clip(p.Version, 40)
		if p.Before != "" && p.Before != p.Version {
			part += " (was " + Clip(p.Before, 40) + ")"
		}
		parts = append(parts, part)
	}
	return "Installed " + strings.Join(parts, ", ") + "."
}

// lastLines returns the end of a text.
func lastLines(text string, most int) string {
	at := len(strings.TrimRight(text, "\n"))
	for range most {
		at = strings.LastIndexByte(text[:max(at, 0)], '\n')
	}
	if at <= 0 {
		return text
	}
	return "…" + text[at:]
}
