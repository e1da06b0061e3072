package answer

import (
	"encoding/json"
	"fmt"
	"strings"

	"understudy/sessions"
)

const (
	mostInstalled   = 40   // packages that an answer names
	shownOfFailures = 3000 // characters of pip's that an answer has when it failed
)

// readable is a result as its text shows it. Of an installation that went well it has
// one line in the place of all that pip says, and of one that failed the end of it.
func readable(r *sessions.Result) *sessions.Result {
	if r.Kind != sessions.RunsInstall || r.Status.Runs() {
		return r
	}
	short := *r
	short.Result, short.ResultType, short.Pieces = nil, "", nil
	if r.Status == sessions.StatusOK {
		short.Stdout, short.StdoutTruncated, short.OutputPath = installed(r.Result), 0, ""
	} else if short.Stdout = last(r.Stdout, shownOfFailures); len(short.Stdout) < len(r.Stdout) {
		short.Stdout = "…" + short.Stdout
	}
	return &short
}

// installed tells which packages are there now that were not, as a worker says it.
func installed(result json.RawMessage) string {
	var all struct {
		Installed []struct {
			Name, Version string
			Before        string // the version that there was, if any
		}
	}
	if json.Unmarshal(result, &all) != nil || len(all.Installed) == 0 {
		return "Nothing was installed: what was asked for is there already."
	}
	var parts []string
	for _, p := range all.Installed[:min(mostInstalled, len(all.Installed))] {
		part := Clip(p.Name, 60) + " " + Clip(p.Version, 40)
		if p.Before != "" && p.Before != p.Version {
			part += " (was " + Clip(p.Before, 40) + ")"
		}
		parts = append(parts, part)
	}
	if more := len(all.Installed) - len(parts); more > 0 {
		parts = append(parts, fmt.Sprintf("and %d more", more))
	}
	return "Installed " + strings.Join(parts, ", ") + "."
}
