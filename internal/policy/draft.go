package policy

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// draft is rules as they stand in the file, before those that they extend are known.
type draft struct {
	place     string // for errors
	extends   string // "" for nothing
	extendsAt string // the place of extends
	lists     []list
	magics    map[string]string
}

// list is one rule that is a list.
type list struct {
	*key
	place    string
	items    []string
	inherits bool // it has the inherited items too
	all      bool // it is lifted
}

// inherited stands in a list for the items of the rules that are extended.
const inherited = "..."

// everything lifts an allow-list.
const everything = "all"

// reader reads the nodes of one file.
type reader struct{ name string }

// at is the place of a node, for errors.
func (r reader) at(n *yaml.Node, key string) string {
	return fmt.Sprintf("%s, line %d: %s", r.name, n.Line, key)
}

// pairs calls each for the pairs of a mapping.
func (r reader) pairs(place string, n *yaml.Node, each func(key, value *yaml.Node) error) error {
	if n.Kind != yaml.MappingNode {
		return fmt.Errorf("%s: it must be a mapping, as in \"blocked_modules: [socket]\"", place)
	}
	seen := map[string]bool{}
	for i := 0; i+1 < len(n.Content); i += 2 {
		key := n.Content[i]
		if key.Kind != yaml.ScalarNode || key.Tag == "!!merge" {
			return fmt.Errorf("%s: a key must be a plain name", r.at(key, place))
		}
		if seen[key.Value] {
			return fmt.Errorf("%s: it is there twice", r.at(key, key.Value))
		}
		seen[key.Value] = true
		if err := each(key, dereferenced(n.Content[i+1])); err != nil {
			return err
		}
	}
	return nil
}

// dereferenced is what an alias stands for.
func dereferenced(n *yaml.Node) *yaml.Node {
	if n.Kind == yaml.AliasNode {
		return n.Alias
	}
	return n
}

// draft reads rules. Others takes keys that are no rules; it returns false for one
// that it doesn't know.
func (r reader) draft(place string, n *yaml.Node, others map[string]func(place string, value *yaml.Node) error) (*draft, error) {
	d := &draft{place: place}
	err := r.pairs(place, n, func(name, value *yaml.Node) error {
		at := r.at(name, name.Value)
		if other, ok := others[name.Value]; ok {
			return other(at, value)
		}
		switch k := keyOf(name.Value); {
		case k != nil:
			l, err := r.list(at, k, value)
			d.lists = append(d.lists, l)
			return err
		case name.Value == "magics":
			return r.magics(d, at, value)
		case name.Value == "extends":
			return d.extend(at, value)
		}
		return fmt.Errorf("%s: unknown key; the keys are %s", at, strings.Join(slices.Sorted(slices.Values(append(Keys(), slices.Collect(maps.Keys(others))...))), ", "))
	})
	return d, err
}

// Keys are the keys that rules may have.
func Keys() []string {
	names := []string{"extends", "magics"}
	for _, k := range keys {
		names = append(names, k.name)
	}
	return names
}

func (r reader) list(place string, k *key, n *yaml.Node) (list, error) {
	l := list{key: k, place: place, items: []string{}}
	switch {
	case n.Tag == "!!null":
		return l, fmt.Errorf("%s: %w, or [] for an empty list", place, errNoValue)
	case n.Kind == yaml.ScalarNode && n.Value == everything && k.allows:
		l.all = true
		return l, nil
	case n.Kind != yaml.SequenceNode && k.allows:
		return l, fmt.Errorf("%s: it must be a list, as [pandas], or %s", place, everything)
	case n.Kind != yaml.SequenceNode:
		return l, fmt.Errorf("%s: it must be a list, as [socket, subprocess]", place)
	}
	for _, item := range n.Content {
		if err := r.item(&l, dereferenced(item)); err != nil {
			return l, fmt.Errorf("%s: %w", r.at(item, k.name), err)
		}
	}
	return l, nil
}

func (r reader) item(l *list, n *yaml.Node) error {
	switch {
	case n.Kind != yaml.ScalarNode || n.Tag == "!!null" || n.Value == "":
		return errors.New("each item must be one text")
	case n.Value == inherited:
		l.inherits = true
		return nil
	}
	l.items = append(l.items, n.Value)
	return l.check(n.Value)
}

func (r reader) magics(d *draft, place string, n *yaml.Node) error {
	d.magics = map[string]string{}
	return r.pairs(place, n, func(name, value *yaml.Node) error {
		at := r.at(name, "magics: "+name.Value)
		switch {
		case !slices.Contains(magics, name.Value):
			return fmt.Errorf("%s: unknown kind; the kinds are %s", at, strings.Join(magics, " and "))
		case value.Value != Allowed && value.Value != Refused:
			return fmt.Errorf("%s: it must be %s or %s", at, Allowed, Refused)
		}
		d.magics[name.Value] = value.Value
		return nil
	})
}

func (d *draft) extend(place string, n *yaml.Node) error {
	if n.Kind != yaml.ScalarNode || n.Value == "" {
		return fmt.Errorf("%s: it must be the name of one policy, as %s", place, DefaultsName)
	}
	d.extends, d.extendsAt = n.Value, place
	return nil
}

// over returns the rules of the draft on top of those that it extends. A list
// takes the place of the inherited one; of magics each kind is a rule of its own.
func (d *draft) over(base Rules) (Rules, error) {
	for _, l := range d.lists {
		to := l.list(&base)
		switch {
		case l.all:
			*to = nil
		case l.inherits && d.extends == "":
			return base, fmt.Errorf("%s: %q stands for the items of the policy that is extended, and there is no extends", l.place, inherited)
		case l.inherits && l.allows && *to == nil:
			return base, fmt.Errorf("%s: %q stands for the items of the policy that is extended, and that allows all", l.place, inherited)
		case l.inherits:
			*to = joined(*to, l.items)
		default:
			*to = joined(l.items)
		}
	}
	if len(d.magics) > 0 {
		merged := maps.Clone(d.magics)
		for kind, say := range base.Magics {
			if _, own := merged[kind]; !own {
				merged[kind] = say
			}
		}
		base.Magics = merged
	}
	return base, nil
}
