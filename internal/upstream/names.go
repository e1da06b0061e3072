package upstream

import (
	"fmt"
	"slices"
	"strings"

	"understudy/schemas"
)

// softWords are names that Python has for itself without reserving them: functions of
// such names would be shadowed, or read wrongly.
var softWords = []string{"match", "case", "type", "_"}

// packageNames are what the package mcptools and its modules have themselves.
var packageNames = strings.Fields("aio servers search read stubs ToolError Media Resource Server Found")

// nameLength is how long a name in Python may be.
const nameLength = 100

// identifier makes a name for Python of any text: letters and digits of ASCII stay.
// Underscores in front go, and with them all that modules have themselves, as __class__.
func identifier(text, otherwise string, taken []string) string {
	name := strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '_' {
			return r
		}
		return '_'
	}, text)
	name = strings.TrimLeft(name[:min(len(name), nameLength)], "_")
	if strings.HasPrefix(text, "__") {
		name = strings.TrimRight(name, "_")
	}
	switch {
	case name == "":
		name = otherwise
	case name[0] >= '0' && name[0] <= '9':
		name = "_" + name
	}
	if schemas.IsKeyword(name) || slices.Contains(softWords, name) || slices.Contains(taken, name) {
		name += "_"
	}
	return name
}

// identifiers names all of a list, so that the order of the list has no part in it: who
// has its name already keeps it, and the others are numbered in the order of the alphabet.
func identifiers(texts []string, otherwise string, taken []string) map[string]string {
	names, used := map[string]string{}, map[string]bool{}
	sorted := slices.Sorted(slices.Values(texts))
	for _, text := range sorted {
		if identifier(text, otherwise, taken) == text {
			names[text], used[text] = text, true
		}
	}
	for _, text := range sorted {
		if _, named := names[text]; named {
			continue
		}
		base := identifier(text, otherwise, taken)
		name := base
		for n := 2; used[name]; n++ {
			name = fmt.Sprintf("%s_%d", base, n)
		}
		names[text], used[name] = name, true
	}
	return names
}
