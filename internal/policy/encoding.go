package policy

import (
	"fmt"
	"regexp"
	"strings"
	"unicode/utf8"
)

// declaredEncoding finds the encoding that a comment in a line of Python declares.
var declaredEncoding = regexp.MustCompile(`^[ \t\f]*#.*?coding[:=][ \t]*([-\w.]+)`)

var lineEnd = regexp.MustCompile(`\r\n|\r|\n`)

// encodingProblem says why Python might read other code in the bytes of a file than
// they are as UTF-8, "" if it can't: an encoding that the file declares may turn what
// looks like a comment into code.
func encodingProblem(text string) string {
	if !utf8.ValidString(text) {
		return "it is not UTF-8"
	}
	lines := lineEnd.Split(strings.TrimPrefix(text, "\ufeff"), 3)
	for _, line := range lines[:min(2, len(lines))] {
		found := declaredEncoding.FindStringSubmatch(line)
		if found == nil {
			continue
		}
		name := strings.ReplaceAll(strings.ToLower(found[1]), "_", "-")
		if name != "utf-8" && name != "utf8" && name != "ascii" && name != "us-ascii" && !strings.HasPrefix(name, "utf-8-") {
			return fmt.Sprintf("it declares the encoding %s; write it as UTF-8 and take that line out", cut(found[1], longestLine))
		}
	}
	return ""
}
