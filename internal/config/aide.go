package config

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/alecthomas/kong"
	"go.yaml.in/yaml/v3"
)

// ofAIDE are the keys of AIDE's config.yaml that have a counterpart, and how those of its
// values are written here that have other words. What belongs to the task is apart: it is
// one setting.
var ofAIDE = map[string]struct {
	setting string
	words   map[string]string
}{
	"data_dir":                     {"data", nil},
	"copy_data":                    {"data-mode", map[string]string{"true": DataCopy, "false": DataLink}},
	"exp_name":                     {"experiment-name", nil},
	"log_dir":                      {"run-dir", nil},
	"log_level":                    {"log-level", logLevels},
	"exec.timeout":                 {"timeout", nil},
	"exec.agent_file_name":         {"code-file", nil},
	"exec.format_tb_ipython":       {"traceback", map[string]string{"true": "ipython", "false": "plain"}},
	"agent.steps":                  {"steps", nil},
	"agent.search.num_drafts":      {"drafts", nil},
	"agent.search.max_debug_depth": {"debug-depth", nil},
	"agent.search.debug_prob":      {"debug-prob", nil},
}

var logLevels = map[string]string{
	"debug": "debug", "info": "info", "warn": "warn", "warning": "warn", "error": "error", "critical": "error", "fatal": "error",
}

// always are keys of AIDE's for what is done here anyway, if they are true.
var always = []string{"preprocess_data", "agent.data_preview"}

// isAIDE reports whether a file is one of AIDE's: it has a task in its words, or one of
// its groups.
func isAIDE(pairs []*yaml.Node) bool {
	for i := 0; i+1 < len(pairs); i += 2 {
		switch pairs[i].Value {
		case "goal", "desc_file":
			return true
		case "agent", "exec":
			if pairs[i+1].Kind == yaml.MappingNode {
				return true
			}
		}
	}
	return false
}

// translation makes settings of AIDE's keys.
type translation struct {
	flags      []*kong.Flag
	pairs      []*yaml.Node      // key, value, … in our words
	task       map[string]string // desc_file, goal and eval
	taskLine   int
	ignored    []string // keys without a counterpart
	hasTrialed bool     // the file says whether runs are trials
}

// fromAIDE returns what of a file of AIDE's has a counterpart in the form of our own, and
// the keys that have none. Our own settings may stand in it, too.
func fromAIDE(pairs []*yaml.Node, flags []*kong.Flag) (ours []*yaml.Node, ignored []string) {
	t := translation{flags: flags, task: map[string]string{}}
	t.walk("", pairs)
	if !t.hasTrialed {
		t.set("trials", "true", 0)
	}
	switch file, goal := t.task["desc_file"], t.task["goal"]; {
	case file != "":
		t.set("task", "@"+file, t.taskLine)
		for _, other := range []string{"goal", "eval"} {
			if t.task[other] != "" {
				t.ignored = append(t.ignored, other+" (desc_file is the task)")
			}
		}
	case goal != "" && t.task["eval"] != "":
		t.set("task", fmt.Sprintf("%s\n\nHow a solution is measured: %s", goal, t.task["eval"]), t.taskLine)
	case goal != "":
		t.set("task", goal, t.taskLine)
	}
	return t.pairs, t.ignored
}

// walk takes the pairs of a mapping below a key, as "agent."; null is what AIDE fills in.
func (t *translation) walk(below string, pairs []*yaml.Node) {
	for i := 0; i+1 < len(pairs); i += 2 {
		key, value := pairs[i], pairs[i+1]
		if value.Kind == yaml.AliasNode {
			value = value.Alias
		}
		name := below + key.Value
		known, found := ofAIDE[name]
		switch {
		case below == "" && slices.ContainsFunc(t.flags, func(f *kong.Flag) bool { return f.Name == key.Value }):
			t.pairs = append(t.pairs, key, value)
			t.hasTrialed = t.hasTrialed || key.Value == "trials"
		case value.Kind == yaml.MappingNode:
			t.walk(name+".", value.Content)
		case value.Tag == "!!null", slices.Contains(always, name) && strings.EqualFold(value.Value, "true"):
		case found && value.Kind == yaml.ScalarNode:
			t.set(known.setting, cmp.Or(known.words[strings.ToLower(value.Value)], value.Value), key.Line)
		case name == "desc_file" || name == "goal" || name == "eval":
			t.task[name], t.taskLine = value.Value, key.Line
		default:
			t.ignored = append(t.ignored, name)
		}
	}
}

func (t *translation) set(setting, value string, line int) {
	var key, text yaml.Node
	key.SetString(setting)
	text.SetString(value)
	key.Line = line
	t.pairs = append(t.pairs, &key, &text)
}
