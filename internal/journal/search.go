package journal

import (
	"cmp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// searcher finds any of many forms in one pass.
type searcher struct {
	longest int // bytes
	// table has for the first two bytes of a form its bucket, from 1; 0 for none.
	table   [1 << 16]uint16
	buckets [][]form // the longest first
}

// form is one way to write a value. It has two bytes or more.
type form struct {
	text string
	word bool // it counts as a whole word only
}

func newSearcher(forms []form) *searcher {
	s := &searcher{buckets: [][]form{nil}}
	slices.SortFunc(forms, func(a, b form) int { return cmp.Compare(len(b.text), len(a.text)) })
	for _, f := range forms {
		s.longest = max(s.longest, len(f.text))
		bucket := &s.table[firstTwo(f.text)]
		if *bucket == 0 {
			*bucket = uint16(len(s.buckets))
			s.buckets = append(s.buckets, nil)
		}
		s.buckets[*bucket] = append(s.buckets[*bucket], f)
	}
	return s
}

// firstTwo are the first two bytes.
func firstTwo(text string) uint16 { return uint16(text[0])<<8 | uint16(text[1]) }

// find returns where the first form at or after from is, of several that begin there
// the longest; start is negative if there is none.
func (s *searcher) find(text string, from int) (first, end int) {
	for at := from; at+1 < len(text); at++ {
		bucket := s.table[firstTwo(text[at:])]
		if bucket == 0 {
			continue
		}
		for _, f := range s.buckets[bucket] {
			if strings.HasPrefix(text[at:], f.text) && (!f.word || aWord(text, at, at+len(f.text))) {
				return at, at + len(f.text)
			}
		}
	}
	return -1, -1
}

// aWord reports whether no letter, digit or underscore is beside a part of a text. A
// letter behind a backslash is none: it stands for a line's end.
func aWord(text string, start, end int) bool {
	before, size := utf8.DecodeLastRuneInString(text[:start])
	after, _ := utf8.DecodeRuneInString(text[end:])
	escaped := size == 1 && start > 1 && text[start-2] == '\\'
	return (!inWord(before) || escaped) && !inWord(after)
}

func inWord(r rune) bool {
	return r == '_' || r != utf8.RuneError && (unicode.IsLetter(r) || unicode.IsDigit(r))
}

// longestWord is up to how many letters a value is taken for a word as people write it.
const longestWord = 15

// isWord reports whether a value is a plain word: it would be found in the middle of
// others, as json in json_data.
func isWord(value string) bool {
	if len(value) > longestWord {
		return false
	}
	for _, r := range value {
		if !('a' <= r && r <= 'z') && !('A' <= r && r <= 'Z') {
			return false
		}
	}
	rest := value[min(1, len(value)):]
	return rest == strings.ToLower(rest) || value == strings.ToUpper(value)
}
