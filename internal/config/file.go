package config

import (
	"errors"
	"fmt"
	"io"
	"os"
	"reflect"
	"slices"
	"strings"

	"github.com/agnivade/levenshtein"
	"github.com/alecthomas/kong"
	"go.yaml.in/yaml/v3"
)

// entry is one setting in the file.
type entry struct {
	text  string
	place string // file, line and key, for errors
}

// loadFile reads a YAML file of the given settings. It refuses what it does
// not know, because a misspelt key would otherwise be a setting that is
// silently off. Of AIDE's config.yaml it takes what has a counterpart; the rest is ignored.
func loadFile(path string, flags []*kong.Flag) (found map[string]entry, ignored []string, err error) {
	if path == "" {
		return map[string]entry{}, nil, nil
	}
	file, err := os.Open(path)
	if err != nil {
		return nil, nil, fmt.Errorf("configuration file: %w", err)
	}
	defer func() { _ = file.Close() }() // it was only read
	root, err := decodeMapping(file)
	if err != nil {
		return nil, nil, fmt.Errorf("configuration file %s: %w", path, err)
	}
	if isAIDE(root) {
		root, ignored = fromAIDE(root, flags)
	}
	found, err = entries(path, root, flags)
	return found, ignored, err
}

// decodeMapping returns the pairs of the file's one mapping: key, value, …
func decodeMapping(file io.Reader) ([]*yaml.Node, error) {
	decoder := yaml.NewDecoder(file)
	var document, second yaml.Node
	switch err := decoder.Decode(&document); {
	case errors.Is(err, io.EOF): // empty, or comments alone
		return nil, nil
	case err != nil:
		return nil, err
	}
	if err := decoder.Decode(&second); !errors.Is(err, io.EOF) {
		return nil, errors.New("it must hold one YAML document")
	}
	root := document.Content[0]
	if root.Kind == yaml.ScalarNode && root.Tag == "!!null" {
		return nil, nil
	}
	if root.Kind != yaml.MappingNode {
		return nil, errors.New("it must be a mapping of settings, as in \"timeout: 10m\"")
	}
	return root.Content, nil
}

func entries(path string, pairs []*yaml.Node, flags []*kong.Flag) (map[string]entry, error) {
	found := map[string]entry{}
	for i := 0; i+1 < len(pairs); i += 2 {
		key, value := pairs[i], pairs[i+1]
		place := fmt.Sprintf("%s, line %d: %s", path, key.Line, key.Value)
		if err := checkKey(key.Value, flags); err != nil {
			return nil, fmt.Errorf("%s: %w", place, err)
		}
		if _, twice := found[key.Value]; twice {
			return nil, fmt.Errorf("%s: it is set twice", place)
		}
		text, err := textOf(value, kindOf(key.Value, flags))
		if err != nil {
			return nil, fmt.Errorf("%s: %w", place, err)
		}
		found[key.Value] = entry{text: text, place: place}
	}
	return found, nil
}

// kindOf is how a setting is kept.
func kindOf(key string, flags []*kong.Flag) reflect.Kind {
	i := slices.IndexFunc(flags, func(f *kong.Flag) bool { return f.Name == key })
	return flags[i].Target.Kind()
}

// textOf writes a value as the command line has it. Where the setting is a list or a
// mapping, so may be the value.
func textOf(value *yaml.Node, kind reflect.Kind) (string, error) {
	if value.Kind == yaml.AliasNode {
		value = value.Alias
	}
	switch {
	case kind == reflect.Slice && value.Kind == yaml.SequenceNode:
		return joinedItems(value.Content)
	case kind == reflect.Map && value.Kind == yaml.MappingNode:
		return joinedPairs(value.Content)
	}
	text, err := scalar(value)
	if err != nil && kind == reflect.Slice {
		return "", fmt.Errorf("%w, or a list of them", err)
	}
	if err != nil && kind == reflect.Map {
		return "", fmt.Errorf("%w, or a mapping of names to them", err)
	}
	return text, err
}

func joinedItems(items []*yaml.Node) (string, error) {
	var texts []string
	for _, item := range items {
		text, err := scalar(item)
		switch {
		case err != nil:
			return "", fmt.Errorf("an item of the list: %w", err)
		case strings.Contains(text, ","):
			return "", fmt.Errorf("%q: an item of the list can't have a comma", text)
		}
		texts = append(texts, text)
	}
	return strings.Join(texts, ","), nil
}

func joinedPairs(pairs []*yaml.Node) (string, error) {
	var texts []string
	for i := 0; i+1 < len(pairs); i += 2 {
		name := pairs[i].Value
		text, err := scalar(pairs[i+1])
		switch {
		case err != nil:
			return "", fmt.Errorf("%s: %w", name, err)
		case strings.ContainsAny(name, "=;"):
			return "", fmt.Errorf("%q: a name can't have = or ;", name)
		}
		texts = append(texts, name+"="+strings.ReplaceAll(text, ";", `\;`))
	}
	return strings.Join(texts, ";"), nil
}

func checkKey(key string, flags []*kong.Flag) error {
	var known []string
	for _, flag := range flags {
		if flag.Name != "config" { // the file can't name itself
			known = append(known, flag.Name)
		}
	}
	if slices.Contains(known, key) {
		return nil
	}
	if near := nearest(key, known); near != "" {
		return fmt.Errorf("unknown setting; did you mean %q?", near)
	}
	slices.Sort(known)
	return fmt.Errorf("unknown setting; the settings are %s", strings.Join(known, ", "))
}

// nearest returns the known word that a misspelt one most likely means, or "".
func nearest(word string, known []string) string {
	word = strings.ReplaceAll(strings.ToLower(word), "_", "-")
	best, distance := "", 3
	for _, candidate := range known {
		if d := levenshtein.ComputeDistance(word, candidate); d < distance && d < len(candidate) {
			best, distance = candidate, d
		}
	}
	return best
}

func scalar(value *yaml.Node) (string, error) {
	if value.Kind == yaml.AliasNode {
		value = value.Alias
	}
	if value.Kind != yaml.ScalarNode {
		return "", errors.New("its value must be one text, number or truth value")
	}
	if value.Tag == "!!null" {
		return "", errors.New("it has no value; write one, or remove the line")
	}
	return value.Value, nil
}
