package policy

import (
	"bytes"
	_ "embed" // the defaults
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// DefaultsName names the rules that come with the program.
const DefaultsName = "defaults"

// baseName names the rules of a file's top level: they hold for everybody whom no
// others are for.
const baseName = "base"

//go:embed defaults.yaml
var defaultsText []byte

// Defaults is the text of the rules that come with the program.
func Defaults() string { return string(defaultsText) }

// Book is the rules of everybody.
type Book struct {
	base       *entry
	principals []*entry
}

// entry is rules that are ready for use.
type entry struct {
	pattern  string // of principals
	rules    Rules
	none     bool
	encoded  json.RawMessage
	literals int // characters of the pattern that stand for themselves
}

func newEntry(pattern string, rules Rules) *entry {
	return &entry{
		pattern: pattern, rules: rules, none: rules.None(), encoded: rules.sealed().encode(),
		literals: len(pattern) - strings.Count(pattern, "*"),
	}
}

// Parse reads a book; name is that of its file, for errors. Additions are joined
// to the base rules, before others extend them.
func Parse(name string, text []byte, more Additions) (*Book, error) {
	if err := more.check(); err != nil {
		return nil, err
	}
	f, err := parseFile(name, text)
	if err != nil {
		return nil, err
	}
	f.more = more
	return f.book()
}

// file is a book as it is written.
type file struct {
	reader
	base       *draft
	policies   map[string]*draft
	patterns   []string // of principals, in their order
	principals map[string]*draft
	more       Additions

	resolved map[string]Rules
	pending  []string // the names that are being resolved, outermost first
}

func parseFile(name string, text []byte) (*file, error) {
	f := &file{
		reader: reader{name}, policies: map[string]*draft{}, principals: map[string]*draft{},
		resolved: map[string]Rules{},
	}
	root, err := oneDocument(text)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	f.base, err = f.draft(name, root, map[string]func(string, *yaml.Node) error{
		"policies":   f.readPolicies,
		"principals": f.readPrincipals,
	})
	return f, err
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
	if root := document.Content[0]; root.Tag != "!!null" {
		return root, nil
	}
	return &yaml.Node{Kind: yaml.MappingNode}, nil
}

func (f *file) readPolicies(place string, n *yaml.Node) error {
	return f.pairs(place, n, func(name, value *yaml.Node) (err error) {
		at := f.at(name, "policies: "+name.Value)
		if name.Value == DefaultsName || name.Value == baseName || name.Value == "" {
			return fmt.Errorf("%s: that name is taken; choose another", at)
		}
		f.policies[name.Value], err = f.draft(at, orEmpty(value), nil)
		return err
	})
}

func (f *file) readPrincipals(place string, n *yaml.Node) error {
	return f.pairs(place, n, func(name, value *yaml.Node) (err error) {
		at := f.at(name, "principals: "+name.Value)
		if name.Value == "" {
			return fmt.Errorf("%s: a principal has a name", at)
		}
		f.patterns = append(f.patterns, name.Value)
		f.principals[name.Value], err = f.draft(at, orEmpty(value), nil)
		return err
	})
}

// orEmpty takes "name:" with nothing behind it, or with comments alone, for no
// rules.
func orEmpty(n *yaml.Node) *yaml.Node {
	if n.Tag == "!!null" {
		return &yaml.Node{Kind: yaml.MappingNode, Line: n.Line}
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
	for _, pattern := range f.patterns {
		rules, err := f.rules(f.principals[pattern])
		if err != nil {
			return nil, err
		}
		b.principals = append(b.principals, newEntry(pattern, rules))
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
		return shipped.base.over(Rules{})
	case baseName:
		rules, err := f.rules(f.base)
		return rules.with(f.more), err
	}
	d, ok := f.policies[name]
	if !ok {
		names := append([]string{DefaultsName, baseName}, slices.Sorted(maps.Keys(f.policies))...)
		return Rules{}, fmt.Errorf("%s: there is no policy %q; there are %s", place, name, strings.Join(names, ", "))
	}
	return f.rules(d)
}

// rules returns those of a draft, with all that it extends.
func (f *file) rules(d *draft) (Rules, error) {
	var base Rules
	if d.extends != "" {
		var err error
		if base, err = f.named(d.extends, d.extendsAt); err != nil {
			return base, err
		}
	}
	return d.over(base)
}

// None reports whether the book allows everybody everything.
func (b *Book) None() bool {
	return b.base.none && !slices.ContainsFunc(b.principals, func(e *entry) bool { return !e.none })
}

// Principals returns how many principals, or patterns of them, have rules of their
// own.
func (b *Book) Principals() int { return len(b.principals) }

// Rules returns the rules for a principal; "" is a caller without a name.
func (b *Book) Rules(principal string) Rules { return b.of(principal).rules }

// of finds the rules for a principal: those of its very name, else of the pattern
// with the most characters of its own, the first of two such, else the base.
func (b *Book) of(principal string) *entry {
	best := b.base
	if principal == "" {
		return best
	}
	for _, e := range b.principals {
		switch {
		case e.pattern == principal:
			return e
		case matches(e.pattern, principal) && (best == b.base || e.literals > best.literals):
			best = e
		}
	}
	return best
}

// matches reports whether a pattern is for a name; * stands for any characters,
// also for none.
func matches(pattern, name string) bool {
	parts := strings.Split(pattern, "*")
	last := len(parts) - 1
	if last == 0 {
		return pattern == name
	}
	rest, ok := strings.CutPrefix(name, parts[0])
	if !ok {
		return false
	}
	for _, part := range parts[1:last] {
		i := strings.Index(rest, part)
		if i < 0 {
			return false
		}
		rest = rest[i+len(part):]
	}
	return strings.HasSuffix(rest, parts[last])
}
