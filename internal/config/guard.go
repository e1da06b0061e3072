package config

// Guard are the settings of what agents may run, and of what is there for them.
type Guard struct {
	Mode       string `enum:"full,plugin-only,cli-only" default:"full" group:"Guard rails" help:"What agents may run: ${enum}. full is Python code; plugin-only has no code, and each plugin is a tool; cli-only runs one shell command a call."`
	MaxRetries int    `default:"3" group:"Guard rails" help:"After this many failures of an interpreter's runs in a row the answer tells the agent to stop and ask its user; 0 never does."`

	Plugins          string            `type:"existingdir" placeholder:"DIR" group:"Plugins" help:"Directory with plugins, each a NAME.yaml and a NAME.py: functions that code can call, or, with --mode plugin-only, that are tools."`
	SessionVariables map[string]string `name:"session-variables" placeholder:"NAME=VALUE;…" group:"Plugins" help:"Session variables that every interpreter begins with, for plugins to read."`
}

// The values of Guard.Mode.
const (
	ModeFull       = "full"
	ModePluginOnly = "plugin-only"
	ModeCLIOnly    = "cli-only"
)

func (g Guard) check() error {
	return atLeast("max-retries", int64(g.MaxRetries), 0)
}
