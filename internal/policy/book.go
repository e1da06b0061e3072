package policy

import (
	_ "embed" // the defaults
	"encoding/json"
	"slices"
	"strings"
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
