package sessions

import (
	"context"
	"time"
)

// equipTime is how long a worker may take for what it is told of plugins.
const equipTime = 30 * time.Second

// Equipment is what the executions of a session find beside Python.
type Equipment struct {
	Plugins []Plugin
	// Variables are the session variables: plugins read them, code does not.
	Variables map[string]string
}

// Plugin is a function of the operator's that code may call by its name.
type Plugin struct {
	Name string `json:"name"`
	// File is where the source is from, for tracebacks; Source is Python.
	File   string `json:"file"`
	Source string `json:"source"`
	// Configuration is what the operator has set for it, a JSON value for each key.
	Configuration map[string]any `json:"configuration"`
	// Signature is as Python writes it after the name, "(path, limit=1000)", and
	// Doc what help() shows: both are there before the source was loaded.
	Signature string `json:"signature"`
	Doc       string `json:"doc"`
	// Helpers is another one whenever a module has changed that plugins may import
	// from their directory. All are loaded anew then: which imports which is not
	// known.
	Helpers string `json:"helpers"`
	// Broken says why it can't be used, "" when it can; there is no source then.
	Broken string `json:"broken"`
}

// Equipper knows the plugins that sessions are to find.
type Equipper interface {
	// Plugins returns them, and a number that is another one whenever they differ.
	Plugins() (plugins []Plugin, revision int)
}

// equipped is what a worker was last told.
type equipped struct {
	worker    Worker
	revision  int
	variables int // how often they had been set
}

// equip tells the worker of plugins and session variables if it doesn't know them:
// a fresh one, one that was brought back, one from before a change. The caller has
// the turn.
func (s *Session) equip(ctx context.Context) error {
	var equipment Equipment
	now := equipped{worker: s.lead()}
	if now.worker == nil { // the session has ended in this moment, which its caller finds
		return nil
	}
	equipment.Variables, now.variables = s.variablesNow()
	if s.options.Equipper != nil {
		equipment.Plugins, now.revision = s.options.Equipper.Plugins()
	}
	if now == s.equipped || s.options.Equipper == nil && now.variables == 0 {
		return nil
	}
	// Not the caller's wait bounds it, which may be shorter than a busy machine needs.
	ctx, cancel := context.WithTimeout(ctx, equipTime)
	defer cancel()
	if err := now.worker.Equip(ctx, equipment); err != nil {
		return err
	}
	s.equipped = now
	return nil
}
