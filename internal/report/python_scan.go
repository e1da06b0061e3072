package report

import (
	"regexp"
	"strings"
)

// scanned is what stands in Python code that a plain script must not have, or only
// at its beginning. Places are offsets in bytes.
type scanned struct {
	magics  []magicPlace
	futures []futureImport
	// awaits says that code outside of functions may await something.
	awaits bool
}

// magicPlace is where "!ls", "%pip install x" or "x?" stands.
type magicPlace struct {
	start, end int
	captured   bool // it is assigned
}

// futureImport is a "from __future__ import", at most up to a ";" or a comment.
type futureImport struct {
	start, end int
	names      []string
}

// These are where IPython finds magics, and pyworker/shell/transform.py lines that install.
var (
	magicFirst    = regexp.MustCompile(`^[ \t\f]*(!|%%?[A-Za-z_]|\?|[%\w.*\[\]]+\?\??[ \t]*(?:\n|$)|(?:(?:python3? -m )?pip3?|conda|mamba|uv)[ \t]+(?:pip )?(?:un)?install\b)`)
	magicAssigned = regexp.MustCompile(`^=[ \t\f]*(?:![^=]|!$|%%?[A-Za-z_])`)
	restOfLine    = regexp.MustCompile(`^[^\\\n]*(?:\\(?:\n|.)?[^\\\n]*)*`)
	future        = regexp.MustCompile(`^from[ \t]+__future__[ \t]+import[ \t]*(\([^)]*\)|[^;\n#]*)`)
	pythonWord    = regexp.MustCompile(`^[\pL\pN_]+`)
	pythonComment = regexp.MustCompile(`#[^\n]*`)
	asyncLoop     = regexp.MustCompile(`^[ \t]+(?:for|with)\b`)
	topDefinition = regexp.MustCompile(`^(?:async[ \t]+)?(?:def|class)\b`)
)

// scanPython reads code as far as it must to tell its statements from strings,
// comments and what stands in brackets. Lines end with "\n".
func scanPython(code string) scanned {
	s := &pythonScanner{code: code}
	s.scan()
	return s.found
}

type pythonScanner struct {
	code         string
	at           int
	depth        int // of brackets
	inDefinition bool
	found        scanned
}

func (s *pythonScanner) scan() {
	fresh := true // a statement may begin here
	for s.at < len(s.code) {
		if fresh {
			s.begin()
		}
		if s.at < len(s.code) {
			fresh = s.step()
		}
	}
}

// begin looks at the beginning of a line that continues none.
func (s *pythonScanner) begin() {
	rest := s.code[s.at:]
	if m := magicFirst.FindStringSubmatchIndex(rest); m != nil {
		s.take(s.at+m[2], false)
		return
	}
	if strings.IndexByte(" \t\f\n#", rest[0]) >= 0 {
		return // it goes on within what began at the margin
	}
	s.inDefinition = topDefinition.MatchString(rest)
	if m := future.FindStringSubmatchIndex(rest); m != nil {
		names := pythonComment.ReplaceAllString(rest[m[2]:m[3]], "")
		s.found.futures = append(s.found.futures, futureImport{
			start: s.at, end: s.at + m[1],
			names: strings.FieldsFunc(names, func(r rune) bool { return strings.ContainsRune("(), \t\\\n", r) }),
		})
		s.at += m[1]
	}
}

// take notes a magic, which goes on to the end of its line.
func (s *pythonScanner) take(start int, captured bool) {
	end := start + len(restOfLine.FindString(s.code[start:]))
	s.found.magics = append(s.found.magics, magicPlace{start, end, captured})
	s.at = end
}

// step goes on by a token, and says whether a statement may begin behind it.
func (s *pythonScanner) step() (fresh bool) {
	rest := s.code[s.at:]
	switch char := rest[0]; {
	case char == '\n':
		s.at++
		return s.depth == 0
	case char == '\\':
		s.at = min(s.at+2, len(s.code))
	case char == '#':
		s.at += len(pythonComment.FindString(rest))
	case char == '"' || char == '\'':
		s.at += stringLength(rest)
	case strings.IndexByte("([{", char) >= 0:
		s.depth++
		s.at++
	case strings.IndexByte(")]}", char) >= 0:
		s.depth = max(0, s.depth-1)
		s.at++
	case char == '=':
		s.stepEquals(rest)
	default:
		s.stepWord(rest)
	}
	return false
}

func (s *pythonScanner) stepEquals(rest string) {
	operator := s.at > 0 && strings.IndexByte("=!<>:+-*/%&|^@", s.code[s.at-1]) >= 0
	if s.depth == 0 && !operator && magicAssigned.MatchString(rest) {
		s.take(s.at+strings.IndexAny(rest, "!%"), true)
		return
	}
	s.at++
}

func (s *pythonScanner) stepWord(rest string) {
	word := pythonWord.FindString(rest)
	s.at += max(1, len(word))
	if s.inDefinition {
		return
	}
	if word == "await" || word == "async" && asyncLoop.MatchString(rest[len(word):]) {
		s.found.awaits = true
	}
}

// stringLength is the length of the string literal that code begins with. An
// f-string is read as any other: quotes within its fields come in pairs.
func stringLength(code string) int {
	quote, long := code[:1], false
	if strings.HasPrefix(code, strings.Repeat(quote, 3)) {
		quote, long = code[:3], true
	}
	for at := len(quote); at < len(code); at++ {
		switch {
		case code[at] == '\\':
			at++
		case code[at] == '\n' && !long:
			return at // Python will say that it has no end
		case strings.HasPrefix(code[at:], quote):
			return at + len(quote)
		}
	}
	return len(code)
}
