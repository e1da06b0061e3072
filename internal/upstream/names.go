package upstream

import (
	"regexp"
	"slices"
	"strconv"
	"strings"

	"understudy/schemas"
)

// reserved are the names that modules of mcptools have for themselves.
var reserved = strings.Fields("aio servers search read stubs ToolError Media Resource Server Found")

var notInNames = regexp.MustCompile(`[^A-Za-z0-9_]+`)

// pythonName makes a name that is one in Python, and that nothing taken has.
func pythonName(name string, taken map[string]bool) string {
	name = strings.Trim(notInNames.ReplaceAllString(name, "_"), "_")
	switch {
	case name == "":
		name = "tool"
	case name[0] >= '0' && name[0] <= '9':
		name = "tool_" + name
	case schemas.IsKeyword(name), slices.Contains(reserved, name):
		name += "_"
	}
	found := name
	for n := 2; taken[found]; n++ {
		found = name + "_" + strconv.Itoa(n)
	}
	taken[found] = true
	return found
}
