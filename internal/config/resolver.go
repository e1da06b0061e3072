package config

import (
	"errors"
	"fmt"
	"io/fs"
	"reflect"
	"slices"
	"strings"

	"github.com/alecthomas/kong"
)

// resolver gives kong the settings that the command line leaves open: the
// environment's, else the file's. Both live in one resolver because kong lets
// any resolver win over its own environment variables, which would turn the
// order of file and environment around.
type resolver struct {
	lookup  func(name string) (string, bool)
	file    map[string]entry // nil until it was read
	ignored *[]string        // what of the file has no counterpart
}

// Validate is called after the values were resolved; they are checked before.
func (r *resolver) Validate(*kong.Application) error { return nil }

// Resolve returns the text of a setting, or nil.
func (r *resolver) Resolve(context *kong.Context, _ *kong.Path, flag *kong.Flag) (any, error) {
	if !needsSettings(context) || !isSetting(context.Model, flag) {
		return nil, nil
	}
	if err := r.readFile(context); err != nil {
		return nil, err
	}
	// An empty variable counts as absent: clients' configuration forms
	// leave such behind.
	if text, ok := r.lookup(envName(flag)); ok && text != "" {
		return accept(flag, text, envName(flag))
	}
	if entry, ok := r.file[flag.Name]; ok {
		return accept(flag, entry.value, entry.place)
	}
	return nil, nil
}

// needsSettings is false for commands that must work whatever the settings are.
func needsSettings(context *kong.Context) bool {
	node := context.Selected()
	return node != nil && node.Name != "version" && node.Name != "completion"
}

func (r *resolver) readFile(context *kong.Context) error {
	if r.file != nil {
		return nil
	}
	path, required := r.filePath(context)
	file, ignored, err := loadFile(path, settings(context.Model))
	if errors.Is(err, fs.ErrNotExist) && !required {
		file, err = map[string]entry{}, nil
	}
	r.file, *r.ignored = file, ignored
	if err != nil {
		return &fileError{err}
	}
	return nil
}

// fileError is a mistake in the file itself, which kong would blame on whichever
// flag it was resolving.
type fileError struct{ error }

func (e *fileError) Unwrap() error { return e.error }

// filePath returns the file to read, and whether somebody asked for it.
func (r *resolver) filePath(context *kong.Context) (path string, required bool) {
	for _, flag := range context.Model.Flags {
		if flag.Name == "config" {
			path, _ = context.FlagValue(flag).(string)
		}
	}
	if path == "" {
		path, _ = r.lookup("UNDERSTUDY_CONFIG")
	}
	if path != "" {
		return kong.ExpandPath(path), true
	}
	path, err := defaultFile()
	if err != nil {
		return "", false
	}
	return path, false
}

// settings are the flags that the environment and the file may set: those of
// the program, of serve and of gateway.
func settings(app *kong.Application) []*kong.Flag {
	return slices.Concat(sharedFlags(app), commandFlags(app, "serve"), gatewayFlags(app))
}

// isSetting reports whether the environment and the file may set a flag: a
// command's own flag that has a setting's name is that setting.
func isSetting(app *kong.Application, flag *kong.Flag) bool {
	return flag.Name != "help" && slices.ContainsFunc(settings(app), func(s *kong.Flag) bool { return s.Name == flag.Name })
}

func sharedFlags(app *kong.Application) []*kong.Flag {
	return slices.DeleteFunc(slices.Clone(app.Flags), func(flag *kong.Flag) bool { return flag.Name == "help" })
}

// gatewayFlags are those that gateway does not share with serve.
func gatewayFlags(app *kong.Application) []*kong.Flag {
	return slices.DeleteFunc(slices.Clone(commandFlags(app, "gateway")), func(flag *kong.Flag) bool {
		return slices.ContainsFunc(commandFlags(app, "serve"), func(s *kong.Flag) bool { return s.Name == flag.Name })
	})
}

func commandFlags(app *kong.Application, name string) []*kong.Flag {
	for _, command := range app.Children {
		if command.Name == name {
			return command.Flags
		}
	}
	return nil
}

func envName(flag *kong.Flag) string {
	return "UNDERSTUDY_" + strings.ToUpper(strings.ReplaceAll(flag.Name, "-", "_"))
}

// accept returns text if the flag takes it; its error names the place that
// the text comes from, which kong's own would not.
func accept(flag *kong.Flag, value any, place string) (any, error) {
	trial := reflect.New(flag.Target.Type()).Elem()
	scan := kong.Scan().PushTyped(value, kong.FlagValueToken)
	if err := flag.Mapper.Decode(&kong.DecodeContext{Value: flag.Value, Scan: scan}, trial); err != nil {
		return nil, fmt.Errorf("%s: %w", place, err)
	}
	if flag.Enum != "" && !flag.EnumMap()[trial.String()] {
		return nil, fmt.Errorf("%s: %q is not one of %s", place, value, flag.Enum)
	}
	return value, nil
}
