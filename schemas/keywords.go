package schemas

import (
	"slices"
	"strings"
)

// keywords are Python's reserved words; soft ones like match are good names.
var keywords = strings.Fields(`False None True and as assert async await break class continue
	def del elif else except finally for from global if import in is lambda nonlocal not or pass
	raise return try while with yield`)

// IsKeyword reports whether Python reserves a word, so that nothing can have it for a name.
func IsKeyword(name string) bool { return slices.Contains(keywords, name) }
