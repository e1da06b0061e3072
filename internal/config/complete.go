package config

import (
	"io"
	"slices"
	"strings"

	"github.com/alecthomas/kong"
)

// Candidate is a word that may stand on the command line, and what it is for.
type Candidate struct{ Word, Help string }

// Complete returns what may stand in the place of the last of the words that follow the
// program's name. None is for a file, or for what only the user knows.
func Complete(words []string) ([]Candidate, error) {
	nowhere := func(string) (string, bool) { return "", false }
	parser, err := newParser(&Config{}, Source{Lookup: nowhere, Stdout: io.Discard}.withDefaults())
	if err != nil || len(words) == 0 {
		return nil, err
	}
	last := words[len(words)-1]
	node := parser.Model.Node
	var valued *kong.Flag // the flag whose value stands next
	for _, word := range words[:len(words)-1] {
		if word == "--" {
			return nil, nil // what follows is another program's
		}
		name, _, whole := strings.Cut(word, "=")
		switch flag := findFlag(node, name); {
		case word == "=": // bash makes a word of it
		case valued != nil:
			valued = nil
		case flag != nil && !whole && !flag.IsBool():
			valued = flag
		default:
			if child := findCommand(node, word); child != nil {
				node = child
			}
		}
	}
	if last == "=" {
		last = ""
	}
	name, value, whole := strings.Cut(last, "=")
	switch flag := findFlag(node, name); {
	case valued != nil:
		return matching(choices(valued.Value, ""), last), nil
	case whole && flag != nil:
		return matching(choices(flag.Value, name+"="), name+"="+value), nil
	case strings.HasPrefix(last, "-"):
		return matching(flagsOf(node), last), nil
	}
	return matching(commandsOf(node), last), nil
}

func matching(all []Candidate, prefix string) []Candidate {
	return slices.DeleteFunc(all, func(c Candidate) bool { return !strings.HasPrefix(c.Word, prefix) })
}

func choices(value *kong.Value, before string) []Candidate {
	var list []Candidate
	if value.Enum != "" {
		for _, word := range value.EnumSlice() {
			list = append(list, Candidate{Word: before + word})
		}
	}
	return list
}

// commandsOf are the commands below a node, else what its first argument may be.
func commandsOf(node *kong.Node) []Candidate {
	var list []Candidate
	for _, child := range node.Children {
		list = append(list, Candidate{child.Name, firstSentence(child.Help)})
	}
	if len(list) == 0 && len(node.Positional) > 0 {
		return choices(node.Positional[0], "")
	}
	return list
}

func findCommand(node *kong.Node, name string) *kong.Node {
	if i := slices.IndexFunc(node.Children, func(child *kong.Node) bool { return child.Name == name }); i >= 0 {
		return node.Children[i]
	}
	return nil
}

// openFlags are those that may stand at a node: its own, those of what it is in, and those
// of the command that is meant where none is named.
func openFlags(node *kong.Node) []*kong.Flag {
	flags := slices.Concat(node.AllFlags(true)...)
	if node.DefaultCmd != nil {
		flags = append(flags, node.DefaultCmd.Flags...)
	}
	return slices.DeleteFunc(flags, func(flag *kong.Flag) bool { return flag.Hidden })
}

func flagsOf(node *kong.Node) []Candidate {
	var list []Candidate
	for _, flag := range openFlags(node) {
		list = append(list, Candidate{"--" + flag.Name, firstSentence(flag.Help)})
		if flag.Tag.Negatable != "" {
			list = append(list, Candidate{"--no-" + flag.Name, ""})
		}
	}
	return list
}

func findFlag(node *kong.Node, word string) *kong.Flag {
	flags := openFlags(node)
	if i := slices.IndexFunc(flags, func(flag *kong.Flag) bool { return "--"+flag.Name == word }); i >= 0 {
		return flags[i]
	}
	return nil
}

func firstSentence(help string) string {
	sentence, _, _ := strings.Cut(help, ". ")
	return strings.TrimSuffix(sentence, ".")
}
