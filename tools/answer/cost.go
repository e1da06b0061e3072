package answer

import "unicode/utf8"

// charactersPerToken is what words cost: a budget is meant for them.
const charactersPerToken = 4

// affordable is how many characters of text cost what limit characters of words do, at
// least a third as many: numbers and tables cost a model two or three times as much.
func affordable(text string, limit int) int {
	if utf8.RuneCountInString(text) <= limit/3 {
		return limit
	}
	tokens := max(1, tokensOf(text))
	return max(limit/3, min(limit, limit/charactersPerToken*utf8.RuneCountInString(text)/tokens))
}

// tokensOf guesses how many tokens a text has: one for a short word with the blank before
// it, for three digits and for a blank before them, for a sign or two, for a character of
// other scripts.
func tokensOf(text string) (n int) {
	var before script
	run := 0 // characters of one kind that stand together
	for _, c := range text {
		k := scriptOf(c)
		if k != before {
			if before == blank && (k == digit || run > 1) {
				n++
			}
			run = 0
		}
		if k != blank && run%int(k) == 0 {
			n++
		}
		before = k
		run++
	}
	return n
}

// script is a kind of characters: its value is how many that stand together are one token,
// but for blank, which costs by what follows it.
type script int

const (
	blank  script = -1
	other  script = 1
	sign   script = 2
	digit  script = 3
	letter script = 6
	line   script = 16
)

func scriptOf(c rune) script {
	switch {
	case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z':
		return letter
	case c >= '0' && c <= '9':
		return digit
	case c == ' ':
		return blank
	case c == '\n', c == '\r':
		return line
	case c < 0x80:
		return sign
	}
	return other
}
