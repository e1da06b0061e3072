package tools

import (
	"regexp"
	"strings"
)

var (
	// warned is the beginning of a warning of a library, with the directory where it is installed.
	warned = regexp.MustCompile(`(?m)^[^\n:]*/(?:site|dist)-packages/([^\n:]+:\d+: \w+: )`)
	// warns is the line of source below it that says no more than that it warns.
	warns = regexp.MustCompile(`(?m)^  (?:_?warnings\.)?warn\(\n`)
)

// shortWarnings takes out of what libraries warn of what only tells where they are installed.
func shortWarnings(text string) string {
	if !strings.Contains(text, "-packages/") {
		return text
	}
	if short := warned.ReplaceAllString(text, "$1"); short != text {
		return warns.ReplaceAllString(short, "")
	}
	return text
}
