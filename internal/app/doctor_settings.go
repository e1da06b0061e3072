package app

import (
	"runtime"
	"strings"

	"understudy/internal/config"
	"understudy/internal/plugins"
)

// mode says what agents may run.
func (f *findings) mode(c *config.Config) {
	switch c.Serve.Mode {
	case config.ModePluginOnly:
		f.add(groupGuards, "mode", stateOK, "plugin-only: no code, each plugin is a tool")
	case config.ModeCLIOnly:
		f.add(groupGuards, "mode", stateOK, "cli-only: no code, one shell command a call")
	default:
		f.add(groupGuards, "mode", stateOK, "full: Python code")
	}
}

// plugins says how many there are, if they are asked for. Whether they can be loaded
// is the business of the command plugins check.
func (f *findings) plugins(c *config.Config) {
	directory := c.Serve.Plugins
	if directory == "" {
		return
	}
	registry, err := plugins.Open(directory, plugins.Options{Logger: quiet()})
	if err != nil {
		f.add(groupGuards, "plugins", stateFailed, "%v", err)
		return
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
	f.add(groupGuards, "plugins", s, "%d ready, %d broken, %d disabled in %s%s",
		count[plugins.Ready], count[plugins.Broken], count[plugins.Disabled], directory, next)
}

// ignored names the settings of AIDE's configuration that have no counterpart.
func (f *findings) ignored(c *config.Config) {
	if len(c.Ignored) > 0 {
		f.add(groupGuards, "configuration", stateNote, "it is AIDE's; ignored, as they have no counterpart here: %s", strings.Join(c.Ignored, ", "))
	}
}

// start says how interpreters come to be.
func (f *findings) start(c *config.Config) {
	switch {
	case c.Serve.Start == startZygote:
		f.add(groupSystem, "start", stateOK, "interpreters are forked from a process with the libraries (--start zygote), with branch and undo")
	case runtime.GOOS == "linux":
		f.add(groupSystem, "start", stateNote, "every interpreter is a process of its own (--start spawn), without branch and undo; --start zygote has them")
	default:
		f.add(groupSystem, "start", stateNote, "every interpreter is a process of its own (--start spawn), without branch and undo: only on Linux can they be forked")
	}
}
