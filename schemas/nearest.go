package schemas

import (
	"strings"

	"github.com/agnivade/levenshtein"
)

// Nearest returns the word that name was probably meant to be.
func Nearest(name string, words []string) (string, bool) {
	plain := simplify(name)
	best, least := "", max(1, (len(plain)+2)/3)+1
	for _, word := range words {
		other := simplify(word)
		if len(plain) >= 4 && strings.HasPrefix(other, plain) {
			return word, true
		}
		if d := levenshtein.ComputeDistance(plain, other); d < least {
			best, least = word, d
		}
	}
	return best, best != ""
}

// simplify makes interpreterId, interpreter-id and Interpreter_ID alike.
func simplify(name string) string {
	return strings.ToLower(strings.NewReplacer("_", "", "-", "", " ", "", ".", "").Replace(clip(name)))
}

// clipLength is how many bytes of a stranger's text an error repeats.
const clipLength = 60

// clip shortens a text that an error repeats.
func clip(text string) string {
	if len(text) <= clipLength {
		return text
	}
	return strings.ToValidUTF8(text[:clipLength], "") + "…"
}

// join writes "a, b and c".
func join(words []string, last string) string {
	if len(words) < 2 {
		return strings.Join(words, "")
	}
	n := len(words) - 1
	return strings.Join(words[:n], ", ") + " " + last + " " + words[n]
}
