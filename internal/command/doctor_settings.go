package command

import (
	"fmt"
	"runtime"
	"strings"

	"github.com/dustin/go-humanize"

	"understudy/internal/app"
	"understudy/internal/config"
	"understudy/internal/journal"
	"understudy/internal/plugins"
	"understudy/internal/proc"
	"understudy/internal/traces"
)

// checkDirectory says where interpreters work.
func checkDirectory(c *config.Config) (state, string) {
	dir, why := app.WorkingDirectory(c)
	if dir == "" {
		return stateOK, why
	}
	return stateOK, dir + ", " + why
}

// checkMode says what agents may run.
func checkMode(c *config.Config) (state, string) {
	switch c.Serve.Mode {
	case config.ModePluginOnly:
		return stateOK, "plugin-only: no code, each plugin is a tool"
	case config.ModeCLIOnly:
		return stateOK, "cli-only: no code, one shell command a call"
	}
	return stateOK, "full: Python code"
}

// checkPlugins says how many there are, if they are asked for. Whether they can be loaded
// is the business of the command plugins check.
func checkPlugins(c *config.Config) (state, string) {
	directory := c.Serve.Plugins
	if directory == "" {
		return "", ""
	}
	registry, err := plugins.Open(directory, plugins.Options{Logger: quiet()})
	if err != nil {
		return stateFailed, err.Error()
	}
	count := map[plugins.State]int{}
	for _, p := range registry.Set().Plugins {
		count[p.State]++
	}
	s, next := stateOK, ""
	switch {
	case c.Serve.Mode == config.ModeCLIOnly:
		s, next = stateNote, "; nothing can call them with --mode cli-only"
	case count[plugins.Broken] > 0:
		s, next = stateNote, "; \"understudy plugins check\" says what is wrong"
	}
	return s, fmt.Sprintf("%d ready, %d broken, %d disabled in %s%s",
		count[plugins.Ready], count[plugins.Broken], count[plugins.Disabled], directory, next)
}

// checkIgnored names what is set, and is no setting.
func checkIgnored(c *config.Config) (state, string) {
	if len(c.Ignored) == 0 {
		return "", ""
	}
	return stateNote, "no settings any more, or none here, and ignored: " + strings.Join(c.Ignored, ", ")
}

// checkStart says how interpreters come to be.
func checkStart(c *config.Config) (state, string) {
	const spawned = "every interpreter is a process of its own (--start spawn), without branch and undo"
	switch {
	case c.Serve.Start == config.StartZygote:
		return stateOK, "interpreters are forked from a process with the libraries (--start zygote), with branch and undo"
	case runtime.GOOS == "linux":
		return stateNote, spawned + "; --start zygote has them"
	}
	return stateNote, spawned + ": only on Linux can they be forked"
}

// checkJournal says whether what is run can be recorded.
func checkJournal(c *config.Config) (state, string) {
	if c.Serve.NoJournal {
		return stateNote, "nothing is recorded (--no-journal)"
	}
	path := c.JournalPath()
	size, err := journal.Check(path)
	switch {
	case err != nil && (c.Journal != "" || c.Serve.Trials):
		return stateFailed, err.Error()
	case err != nil:
		return stateNote, fmt.Sprintf("nothing is recorded: %v; choose another file with --journal", err)
	}
	return stateOK, fmt.Sprintf("%s, %s with its files", path, humanize.Bytes(uint64(size)))
}

// checkOpenFiles says whether the server may open the files that it needs.
func checkOpenFiles(*config.Config) (state, string) {
	if err := proc.CheckDescriptors(); err != nil {
		return stateFailed, err.Error()
	}
	return stateOK, "enough for interpreters"
}

// checkTraces says where traces go, and tries nothing: the collector may come later.
func checkTraces(*config.Config) (state, string) {
	endpoint, err := traces.Endpoint()
	switch {
	case err != nil:
		return stateNote, "none are sent: " + err.Error()
	case endpoint == "":
		return "", ""
	}
	return stateOK, "sent to " + endpoint
}
