package config

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"

	"github.com/agnivade/levenshtein"
	"github.com/alecthomas/kong"
	"go.yaml.in/yaml/v3"
)

// entry is one setting in the file.
type entry struct {
	value any    // a text, a list or a map of texts
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

// entries returns the settings of a file by their names. Its error tells of every mistake.
func entries(path string, pairs []*yaml.Node, flags []*kong.Flag) (map[string]entry, error) {
	found, problems := map[string]entry{}, []error(nil)
	for i := 0; i+1 < len(pairs); i += 2 {
		key, value := pairs[i], pairs[i+1]
		place := fmt.Sprintf("%s, line %d: %s", path, key.Line, key.Value)
		setting, err := settingOf(path, key.Value, value, flags)
		if _, twice := found[key.Value]; twice {
			err = errors.New("it is set twice")
		}
		if err != nil {
			problems = append(problems, fmt.Errorf("%s: %w", place, err))
		}
		found[key.Value] = entry{value: setting, place: place}
	}
	return found, errors.Join(problems...)
}

// settingOf returns a setting's value as kong takes it: a text, a list or a map of texts.
func settingOf(path, key string, value *yaml.Node, flags []*kong.Flag) (any, error) {
	if err := checkKey(key, flags); err != nil {
		return nil, err
	}
	flag := flags[slices.IndexFunc(flags, func(f *kong.Flag) bool { return f.Name == key })]
	located, kind := fromFile(path, flag), flag.Target.Kind()
	if value.Kind == yaml.AliasNode {
		value = value.Alias
	}
	switch {
	case kind == reflect.Slice && value.Kind == yaml.SequenceNode:
		return listed(value.Content, located)
	case kind == reflect.Map && value.Kind == yaml.MappingNode:
		return mapped(value.Content)
	}
	text, err := scalar(value)
	switch {
	case err != nil && kind == reflect.Slice:
		return nil, fmt.Errorf("%w, or a list of them", err)
	case err != nil && kind == reflect.Map:
		return nil, fmt.Errorf("%w, or a mapping of names to them", err)
	case err != nil:
		return nil, err
	case kind != reflect.Slice:
		return located(text), nil
	case flag.Tag.Sep < 0: // one item, whatever it has in it
		return []any{located(text)}, nil
	}
	var all []any
	for _, one := range kong.SplitEscaped(text, flag.Tag.Sep) {
		all = append(all, located(strings.TrimSpace(one)))
	}
	return all, nil
}

func listed(items []*yaml.Node, located func(string) string) (all []any, err error) {
	for _, item := range items {
		text, err := scalar(item)
		if err != nil {
			return nil, fmt.Errorf("an item of the list: %w", err)
		}
		all = append(all, located(text))
	}
	return all, nil
}

func mapped(pairs []*yaml.Node) (map[string]any, error) {
	all := map[string]any{}
	for pair := range slices.Chunk(pairs, 2) {
		text, err := scalar(pair[1])
		if err != nil {
			return nil, fmt.Errorf("%s: %w", pair[0].Value, err)
		}
		all[pair[0].Value] = text
	}
	return all, nil
}

// fromFile returns what makes a path in a file of settings one that is relative to the
// file, and leaves what is no path as it is.
func fromFile(file string, flag *kong.Flag) func(string) string {
	dir := filepath.Dir(file)
	relative := func(path string) string {
		switch {
		case strings.HasPrefix(path, "~"):
			return kong.ExpandPath(path)
		case path == "" || filepath.IsAbs(path):
			return path
		}
		return filepath.Join(dir, path)
	}
	switch flag.Tag.Type {
	case "path", "existingdir", "existingpath":
		return relative
	case "policy":
		return func(text string) string {
			if text == PolicyDefaults {
				return text
			}
			return relative(text)
		}
	case "text":
		return func(text string) string {
			if name, isFile := strings.CutPrefix(text, "@"); isFile {
				return "@" + relative(name)
			}
			return text
		}
	case "secrets":
		return func(text string) string {
			if secret, err := parseSecret(text); err == nil && secret.File != "" {
				return strings.Replace(text, "file:"+secret.File, "file:"+relative(secret.File), 1)
			}
			return text
		}
	case "python", "pythons":
		return func(text string) string {
			name, path, named := strings.Cut(text, "=")
			switch {
			case named && filepath.Base(path) != path:
				return name + "=" + relative(strings.TrimSpace(path))
			case !named && filepath.Base(text) != text: // else it is a name on PATH
				return relative(text)
			}
			return text
		}
	}
	return func(text string) string { return text }
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
	near := nearest(key, known)
	if i := slices.IndexFunc(flags, func(f *kong.Flag) bool { return f.Name == near && f.Tag.Has("retired") }); i >= 0 {
		return fmt.Errorf("unknown setting; %s was one, and is always %s: take the line out", near, flags[i].Tag.Get("retired"))
	}
	if near != "" {
		return fmt.Errorf("unknown setting; did you mean %q?", near)
	}
	return errors.New("unknown setting, and none has a name like it; understudy serve --help lists them all")
}

// nearest returns the known word that a misspelt one most likely means, or "": the one of
// fewest changes, if they are few; else one that has a part of the same name, as
// memory-limit for max_memory; else the one of fewest changes, if half of the word stays.
func nearest(word string, known []string) string {
	word = strings.ReplaceAll(strings.ToLower(word), "_", "-")
	parts := strings.Split(word, "-")
	best, least := "", len(word)
	var akin string
	most := 0
	for _, candidate := range known {
		if d := levenshtein.ComputeDistance(word, candidate); d < least && d < len(candidate) {
			best, least = candidate, d
		}
		same := 0
		for part := range strings.SplitSeq(candidate, "-") {
			if len(part) > 2 && slices.Contains(parts, part) {
				same += len(part)
			}
		}
		if same > most {
			akin, most = candidate, same
		}
	}
	switch {
	case least <= 2:
		return best
	case akin != "":
		return akin
	case least <= len(word)/2:
		return best
	}
	return ""
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
