package journal

import (
	"cmp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// searcher finds any of many forms in one pass (Wu and Manber): two bytes say how far
// the next look may be away, so that most bytes are never looked at.
type searcher struct {
	shortest, longest int // bytes
	// table says for the two bytes at the end of a window as long as the shortest form
	// by how much the window moves on, or, if that is not above 0, the negative index
	// of the forms that may begin with the window.
	table   [1 << 16]int16
	buckets [][]form // the longest first
}

// form is one way to write a value.
type form struct {
	text string
	word bool // it counts as a whole word only
}

// newSearcher returns what searches for forms, of which there is one at least and each
// has two bytes or more.
func newSearcher(forms []form) *searcher {
	s := &searcher{shortest: len(forms[0].text)}
	for _, f := range forms {
		s.shortest, s.longest = min(s.shortest, len(f.text)), max(s.longest, len(f.text))
	}
	s.shortest = min(s.shortest, 1<<14)
	for i := range s.table {
		s.table[i] = int16(s.shortest - 1)
	}
	ends := map[uint16][]form{}
	for _, f := range forms {
		for i := 2; i < s.shortest; i++ {
			at := block(f.text, i)
			s.table[at] = min(s.table[at], int16(s.shortest-i))
		}
		end := block(f.text, s.shortest)
		ends[end] = append(ends[end], f)
	}
	for end, those := range ends {
		slices.SortFunc(those, func(a, b form) int { return cmp.Compare(len(b.text), len(a.text)) })
		s.table[end] = -int16(len(s.buckets))
		s.buckets = append(s.buckets, those)
	}
	return s
}

// block is the two bytes before end.
func block(text string, end int) uint16 { return uint16(text[end-2])<<8 | uint16(text[end-1]) }

// find returns where the first form at or after from is, of several that begin there
// the longest; start is negative if there is none.
func (s *searcher) find(text string, from int) (start, end int) {
	for last := from + s.shortest; last <= len(text); {
		move := s.table[block(text, last)]
		if move > 0 {
			last += int(move)
			continue
		}
		at := last - s.shortest
		for _, f := range s.buckets[-move] {
			if strings.HasPrefix(text[at:], f.text) && (!f.word || aWord(text, at, at+len(f.text))) {
				return at, at + len(f.text)
			}
		}
		last++
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

// shortestPart is how many bytes a part of a value has at least that is masked beside
// a cut.
const shortestPart = 4

// parts are the beginnings and ends of forms, which a cut may leave.
type parts struct {
	longest     int
	begin, ends map[string][]string // forms by their first and last bytes
}

func newParts(forms []form) *parts {
	p := &parts{begin: map[string][]string{}, ends: map[string][]string{}}
	for _, f := range forms {
		if f.word || len(f.text) <= shortestPart {
			continue
		}
		p.longest = max(p.longest, len(f.text))
		first, last := f.text[:shortestPart], f.text[len(f.text)-shortestPart:]
		p.begin[first] = append(p.begin[first], f.text)
		p.ends[last] = append(p.ends[last], f.text)
	}
	return p
}

// atEnd returns where the longest beginning of a form starts with which text ends, its
// length for none.
func (p *parts) atEnd(text string) int {
	for at := max(0, len(text)-p.longest); at+shortestPart <= len(text); at++ {
		for _, f := range p.begin[text[at:at+shortestPart]] {
			if strings.HasPrefix(f, text[at:]) {
				return at
			}
		}
	}
	return len(text)
}

// atStart returns where the longest end of a form ends with which text starts, 0 for
// none.
func (p *parts) atStart(text string) int {
	for at := min(p.longest, len(text)); at >= shortestPart; at-- {
		for _, f := range p.ends[text[at-shortestPart:at]] {
			if strings.HasSuffix(f, text[:at]) {
				return at
			}
		}
	}
	return 0
}
