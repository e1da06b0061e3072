package config

import (
	"io"
	"strings"

	"github.com/alecthomas/kong"
)

// Setting describes one setting, for the reference.
type Setting struct {
	Flag, Env, Key, Default, Help, Group string
	// Serve is true for settings that only the server and the gateway read.
	Serve bool
}

// Settings lists all settings in the order of their declaration.
func Settings() ([]Setting, error) {
	nowhere := func(string) (string, bool) { return "", false }
	parser, err := newParser(&Config{}, Source{Lookup: nowhere, Stdout: io.Discard}.withDefaults())
	if err != nil {
		return nil, err
	}
	var list []Setting
	for _, flag := range sharedFlags(parser.Model) {
		list = append(list, describeSetting(flag, false))
	}
	for _, flag := range append(commandFlags(parser.Model, "serve"), gatewayFlags(parser.Model)...) {
		if !flag.Hidden {
			list = append(list, describeSetting(flag, true))
		}
	}
	return list, nil
}

func describeSetting(flag *kong.Flag, serve bool) Setting {
	setting := Setting{
		Flag:    "--" + flag.Name,
		Env:     envName(flag),
		Key:     flag.Name,
		Default: flag.Default,
		// The defaults that depend on the machine have no place in a
		// reference; the sentence that names them goes with them.
		Help:  referenceHelp(flag.OrigHelp, flag.Enum),
		Serve: serve,
	}
	if flag.Name == "config" {
		setting.Key = ""
	}
	if flag.Group != nil {
		setting.Group = flag.Group.Title
	}
	return setting
}

func referenceHelp(help, enum string) string {
	if i := strings.Index(help, " Default: ${"); i >= 0 {
		help = help[:i]
	}
	return strings.ReplaceAll(help, "${enum}", strings.ReplaceAll(enum, ",", ", "))
}

// addToHelp ends every flag's help with its default, and a setting's with its
// environment variable.
func addToHelp(parser *kong.Kong) error {
	return kong.Visit(parser.Model.Node, func(node kong.Visitable, next kong.Next) error {
		if flag, ok := node.(*kong.Flag); ok {
			if flag.HasDefault {
				flag.Help += " Default: " + flag.Default + "."
			}
			if isSetting(parser.Model, flag) {
				flag.Help += " ($" + envName(flag) + ")"
			}
		}
		return next(nil)
	})
}
