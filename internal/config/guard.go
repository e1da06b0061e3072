package config

import (
	"fmt"
	"regexp"

	"github.com/alecthomas/kong"
)

// Guard are the settings of what agents may run, and of what is there for them.
type Guard struct {
	Mode           string   `enum:"full,plugin-only,cli-only" default:"full" group:"Guard rails" help:"What agents may run: ${enum}. full is Python code; plugin-only has no code, and each plugin is a tool; cli-only runs one shell command a call."`
	Policy         string   `type:"policy" placeholder:"FILE|defaults" group:"Guard rails" help:"Check all code by the rules of this YAML file before anything of it runs; defaults are the rules that come with the program. The file is read again when it changes. Nothing is checked without --policy, --allow-modules, --block-modules and --block-functions."`
	AllowModules   []string `type:"rules" placeholder:"MODULE,…" group:"Guard rails" help:"Modules that code may import, separated by commas, as pandas,scipy.*, beside those that the base rules of --policy allow; no others then."`
	BlockModules   []string `type:"rules" placeholder:"MODULE,…" group:"Guard rails" help:"Modules that code may not import, separated by commas, beside those of the base rules of --policy."`
	BlockFunctions []string `type:"rules" placeholder:"NAME,…" group:"Guard rails" help:"Functions that code may not use, by whatever name, separated by commas, as open,os.system, beside those of the base rules of --policy."`

	MaxRetries int `least:"0" default:"3" group:"Guard rails" help:"After this many failures of an interpreter's runs in a row the answer tells the agent to stop and ask its user; 0 never does."`

	Plugins          string            `type:"existingdir" placeholder:"DIR" group:"Plugins" help:"Directory with plugins, each a NAME.yaml and a NAME.py: functions that code can call, or, with --mode plugin-only, that are tools."`
	SessionVariables map[string]string `name:"session-variables" placeholder:"NAME=VALUE;…" group:"Plugins" help:"Session variables that every interpreter begins with, for plugins to read: NAME=VALUE, separated by semicolons."`
}

// The values of Guard.Mode.
const (
	ModeFull       = "full"
	ModePluginOnly = "plugin-only"
	ModeCLIOnly    = "cli-only"
)

// Policy are the commands about rules for code.
type Policy struct {
	Check PolicyCheck `cmd:"" help:"Read a file of rules, and say of files of code and of commands whether they would run; exit status 1 when the rules can't be read, or code would not run."`
}

// PolicyCheck are the arguments and flags of policy check.
type PolicyCheck struct {
	File      string   `arg:"" type:"policy" placeholder:"FILE" help:"The rules, as for --policy: a YAML file, or defaults."`
	Code      []string `arg:"" optional:"" type:"existingfile" help:"Files of Python code."`
	Command   []string `sep:"none" placeholder:"TEXT" help:"A shell command to try too, as run_shell_command is given; may be repeated."`
	Principal string   `placeholder:"NAME" help:"Take the rules for this principal. Default: the base rules."`
}

// Policed reports whether code is checked before it runs.
func (g Guard) Policed() bool {
	return g.Policy != "" || len(g.AllowModules)+len(g.BlockModules)+len(g.BlockFunctions) > 0
}

// PolicyDefaults is the value of Guard.Policy that is no file.
const PolicyDefaults = "defaults"

// parsePolicy takes the path of a file, or PolicyDefaults.
func parsePolicy(text string) (string, error) {
	if text != "" && text != PolicyDefaults {
		text = kong.ExpandPath(text)
	}
	return text, nil
}

// dottedName is the name of a module or a function, as os.path.join, in which * may
// stand for any characters.
var dottedName = regexp.MustCompile(`^[\p{L}_*][\p{L}\p{Nd}_*]*(\.[\p{L}_*][\p{L}\p{Nd}_*]*)*$`)

func parseRule(text string) (string, error) {
	if !dottedName.MatchString(text) {
		return "", fmt.Errorf("%q is not the name of a module or a function; write pandas,os.path", text)
	}
	return text, nil
}
