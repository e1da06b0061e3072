package policy

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
)

// Rules are what holds for somebody's code, as the checker takes them. A nil list
// is a rule that is off; an empty allow-list allows nothing.
type Rules struct {
	AllowedModules    []string `json:"allowed_modules,omitzero"`
	BlockedModules    []string `json:"blocked_modules,omitzero"`
	BlockedFunctions  []string `json:"blocked_functions,omitzero"`
	BlockedAttributes []string `json:"blocked_attributes,omitzero"`
	AllowedVariables  []string `json:"allowed_variables,omitzero"`
	// Magics says of "pip" and "shell" whether they are Allowed or Refused.
	Magics      map[string]string `json:"magics,omitzero"`
	PipPackages []string          `json:"pip_packages,omitzero"`
	Commands    []string          `json:"commands,omitzero"`
}

// The values of Rules.Magics.
const (
	Allowed = "allow"
	Refused = "refuse"
)

// None reports whether everything is allowed.
func (r Rules) None() bool { return reflect.DeepEqual(r, Rules{}) }

// sealed returns the rules with those that follow from them: while code is held to
// some modules, functions or attributes, lines of the shell and of pip, which know
// none of these, are refused unless something is said about them.
func (r Rules) sealed() Rules {
	if r.AllowedModules == nil && len(r.BlockedModules)+len(r.BlockedFunctions)+len(r.BlockedAttributes) == 0 {
		return r
	}
	sealed := map[string]string{}
	if r.Commands == nil {
		sealed["shell"] = Refused
	}
	if r.PipPackages == nil {
		sealed["pip"] = Refused
	}
	maps.Copy(sealed, r.Magics)
	r.Magics = sealed
	return r
}

// Refuses reports whether lines of a kind, "pip" or "shell", are refused as such.
func (r Rules) Refuses(magic string) bool { return r.sealed().Magics[magic] == Refused }

func (r Rules) encode() json.RawMessage {
	text, err := json.Marshal(r)
	if err != nil {
		panic(err) // lists of texts can always be encoded
	}
	return text
}

// Additions are rules from the command line, beside those of the file.
type Additions struct {
	AllowModules, BlockModules, BlockFunctions []string
}

// lists are the additions by the key that they add to.
func (a Additions) lists() map[string][]string {
	return map[string][]string{
		"allowed_modules": a.AllowModules, "blocked_modules": a.BlockModules, "blocked_functions": a.BlockFunctions,
	}
}

// check refuses what would be no rule.
func (a Additions) check() error {
	for name, items := range a.lists() {
		for _, item := range items {
			if err := keyOf(name).check(item); err != nil {
				flag := strings.Replace(name, "ed_", "-", 1) // as allow-modules
				return fmt.Errorf("--%s: %w", flag, err)
			}
		}
	}
	return nil
}

// with returns the rules with more of them.
func (r Rules) with(a Additions) Rules {
	for name, items := range a.lists() {
		if list := keyOf(name).list(&r); len(items) > 0 {
			*list = joined(*list, items)
		}
	}
	return r
}

// joined returns a new list of both, each item once.
func joined(lists ...[]string) []string {
	all := []string{}
	for _, item := range slices.Concat(lists...) {
		if !slices.Contains(all, item) {
			all = append(all, item)
		}
	}
	return all
}
