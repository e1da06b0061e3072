package policy

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// file is a book as it is written.
type file struct {
	name       string
	base       []pair // the rules of the top level
	policies   map[string]pair
	principals []pair
	more       Additions

	resolved map[string]Rules
	pending  []string // the names that are being resolved, outermost first
}

// pair is one of a mapping, with the place of its key, for errors.
type pair struct {
	name, place string
	value       *yaml.Node
}

const (
	inherited  = "..." // stands in a list for the items of the rules that are extended
	everything = "all" // lifts an allow-list
)

func parseFile(name string, text []byte) (*file, error) {
	f := &file{name: name, policies: map[string]pair{}, resolved: map[string]Rules{}}
	root, err := oneDocument(text)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	top, err := f.pairs(name, root, "")
	if err != nil {
		return nil, err
	}
	for _, p := range top {
		switch p.name {
		case "policies":
			named, err := f.pairs(p.place, p.value, "policies: ")
			if err != nil {
				return nil, err
			}
			for _, one := range named {
				if slices.Contains([]string{DefaultsName, baseName, ""}, one.name) {
					return nil, fmt.Errorf("%s: that name is taken; choose another", one.place)
				}
				f.policies[one.name] = one
			}
		case "principals":
			if f.principals, err = f.pairs(p.place, p.value, "principals: "); err != nil {
				return nil, err
			}
			if slices.ContainsFunc(f.principals, func(p pair) bool { return p.name == "" }) {
				return nil, fmt.Errorf("%s: a principal has a name", p.place)
			}
		default:
			f.base = append(f.base, p)
		}
	}
	return f, nil
}

// oneDocument returns the root of a YAML document, an empty mapping for none.
func oneDocument(text []byte) (*yaml.Node, error) {
	decoder := yaml.NewDecoder(bytes.NewReader(text))
	var document, second yaml.Node
	switch err := decoder.Decode(&document); {
	case errors.Is(err, io.EOF):
		return &yaml.Node{Kind: yaml.MappingNode}, nil
	case err != nil:
		return nil, err
	}
	if err := decoder.Decode(&second); !errors.Is(err, io.EOF) {
		return nil, errors.New("it must hold one YAML document")
	}
	return orEmpty(document.Content[0]), nil
}

// orEmpty takes "name:" with nothing behind it, or with comments alone, for no
// rules.
func orEmpty(n *yaml.Node) *yaml.Node {
	if n.Tag == "!!null" {
		return &yaml.Node{Kind: yaml.MappingNode, Line: n.Line}
	}
	return n
}

// pairs reads a mapping. prefix stands before the keys in errors.
func (f *file) pairs(place string, n *yaml.Node, prefix string) ([]pair, error) {
	if n.Kind != yaml.MappingNode {
		return nil, fmt.Errorf("%s: it must be a mapping, as in \"blocked_modules: [socket]\"", place)
	}
	var all []pair
	for i := 0; i+1 < len(n.Content); i += 2 {
		key := n.Content[i]
		if key.Kind != yaml.ScalarNode || key.Tag == "!!merge" {
			return nil, fmt.Errorf("%s: a key must be a plain name", f.at(key, place))
		}
		if slices.ContainsFunc(all, func(p pair) bool { return p.name == key.Value }) {
			return nil, fmt.Errorf("%s: it is there twice", f.at(key, key.Value))
		}
		all = append(all, pair{key.Value, f.at(key, prefix+key.Value), dereferenced(n.Content[i+1])})
	}
	return all, nil
}

// at is the place of a node, for errors.
func (f *file) at(n *yaml.Node, key string) string {
	return fmt.Sprintf("%s, line %d: %s", f.name, n.Line, key)
}

// dereferenced is what an alias stands for.
func dereferenced(n *yaml.Node) *yaml.Node {
	if n.Kind == yaml.AliasNode {
		return n.Alias
	}
	return n
}

// book resolves everything, also what nobody uses: a mistake is one anyway.
func (f *file) book() (*Book, error) {
	for _, name := range slices.Sorted(maps.Keys(f.policies)) {
		if _, err := f.named(name, f.policies[name].place); err != nil {
			return nil, err
		}
	}
	base, err := f.named(baseName, f.name)
	if err != nil {
		return nil, err
	}
	b := &Book{base: newEntry("", base)}
	for _, principal := range f.principals {
		rules, err := f.rulesOf(principal)
		if err != nil {
			return nil, err
		}
		b.principals = append(b.principals, newEntry(principal.name, rules))
	}
	return b, nil
}

// named returns the rules of a name; place is where it was named.
func (f *file) named(name, place string) (Rules, error) {
	if rules, ok := f.resolved[name]; ok {
		return rules, nil
	}
	if slices.Contains(f.pending, name) {
		return Rules{}, fmt.Errorf("%s: policies extend each other in a circle: %s", place, strings.Join(append(f.pending, name), " → "))
	}
	f.pending = append(f.pending, name)
	defer func() { f.pending = f.pending[:len(f.pending)-1] }()
	rules, err := f.resolve(name, place)
	if err == nil {
		f.resolved[name] = rules
	}
	return rules, err
}

func (f *file) resolve(name, place string) (Rules, error) {
	switch name {
	case DefaultsName:
		shipped, err := parseFile("defaults.yaml", defaultsText)
		if err != nil {
			return Rules{}, err
		}
		return shipped.rules(shipped.base)
	case baseName:
		rules, err := f.rules(f.base, "policies", "principals")
		return rules.with(f.more), err
	}
	policy, ok := f.policies[name]
	if !ok {
		names := append([]string{DefaultsName, baseName}, slices.Sorted(maps.Keys(f.policies))...)
		return Rules{}, fmt.Errorf("%s: there is no policy %q; there are %s", place, name, strings.Join(names, ", "))
	}
	return f.rulesOf(policy)
}

func (f *file) rulesOf(p pair) (Rules, error) {
	pairs, err := f.pairs(p.place, orEmpty(p.value), "")
	if err != nil {
		return Rules{}, err
	}
	return f.rules(pairs)
}

// Keys are the keys that rules may have.
func Keys() []string {
	names := []string{"extends", "magics"}
	for _, k := range keys {
		names = append(names, k.name)
	}
	return names
}

// rules returns those of a mapping on top of those that it extends. others are keys that
// may stand beside them.
func (f *file) rules(pairs []pair, others ...string) (rules Rules, err error) {
	i := slices.IndexFunc(pairs, func(p pair) bool { return p.name == "extends" })
	if i >= 0 {
		p := pairs[i]
		if p.value.Kind != yaml.ScalarNode || p.value.Value == "" {
			return rules, fmt.Errorf("%s: it must be the name of one policy, as %s", p.place, DefaultsName)
		}
		if rules, err = f.named(p.value.Value, p.place); err != nil {
			return rules, err
		}
	}
	for _, p := range pairs {
		switch k := keyOf(p.name); {
		case k != nil:
			err = f.list(&rules, k, p, i >= 0)
		case p.name == "magics":
			err = f.magics(&rules, p)
		case p.name != "extends":
			known := slices.Sorted(slices.Values(append(Keys(), others...)))
			err = fmt.Errorf("%s: unknown key; the keys are %s", p.place, strings.Join(known, ", "))
		}
		if err != nil {
			return rules, err
		}
	}
	return rules, nil
}

// list takes a rule that is a list into the rules. It takes the place of the inherited one.
func (f *file) list(rules *Rules, k *key, p pair, extends bool) error {
	n, to := p.value, k.list(rules)
	switch {
	case n.Tag == "!!null":
		return fmt.Errorf("%s: it has no value; write one, or remove the line, or [] for an empty list", p.place)
	case n.Kind == yaml.ScalarNode && n.Value == everything && k.allows:
		*to = nil
		return nil
	case n.Kind != yaml.SequenceNode && k.allows:
		return fmt.Errorf("%s: it must be a list, as [pandas], or %s", p.place, everything)
	case n.Kind != yaml.SequenceNode:
		return fmt.Errorf("%s: it must be a list, as [socket, subprocess]", p.place)
	}
	var items []string
	inherits := false
	for _, item := range n.Content {
		place := f.at(item, k.name)
		switch item = dereferenced(item); {
		case item.Kind != yaml.ScalarNode || item.Tag == "!!null" || item.Value == "":
			return fmt.Errorf("%s: each item must be one text", place)
		case item.Value == inherited:
			inherits = true
			continue
		}
		if err := k.check(item.Value); err != nil {
			return fmt.Errorf("%s: %w", place, err)
		}
		items = append(items, item.Value)
	}
	switch {
	case inherits && !extends:
		return fmt.Errorf("%s: %q stands for the items of the policy that is extended, and there is no extends", p.place, inherited)
	case inherits && k.allows && *to == nil:
		return fmt.Errorf("%s: %q stands for the items of the policy that is extended, and that allows all", p.place, inherited)
	case inherits:
		*to = joined(*to, items)
	default:
		*to = joined(items)
	}
	return nil
}

// magics takes what is said of them into the rules; each kind is a rule of its own.
func (f *file) magics(rules *Rules, p pair) error {
	pairs, err := f.pairs(p.place, p.value, "magics: ")
	if err != nil {
		return err
	}
	merged := map[string]string{}
	maps.Copy(merged, rules.Magics)
	for _, kind := range pairs {
		switch {
		case !slices.Contains(magics, kind.name):
			return fmt.Errorf("%s: unknown kind; the kinds are %s", kind.place, strings.Join(magics, " and "))
		case kind.value.Value != Allowed && kind.value.Value != Refused:
			return fmt.Errorf("%s: it must be %s or %s", kind.place, Allowed, Refused)
		}
		merged[kind.name] = kind.value.Value
	}
	if len(pairs) > 0 {
		rules.Magics = merged
	}
	return nil
}
