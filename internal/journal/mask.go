package journal

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"io"
	"maps"
	"regexp"
	"slices"
	"strings"

	"understudy/sessions"
)

// masked stands where the value of a session variable was.
const masked = "[session variable]"

// masker replaces the values of session variables in what is stored. nil replaces
// nothing.
type masker struct {
	values *strings.Replacer // in each form that one may be written in
	// words are values that are plain words, and word finds them. They are masked as whole
	// words only: others have them in their middle, as json_data.
	words []string
	word  *regexp.Regexp
	// whole are the forms of which also parts are masked, beside a cut.
	whole []string
	forms []string // all of them, the longest first
}

// newMasker returns what masks the secrets, nil if there is nothing to mask.
func newMasker(secrets []string) *masker {
	m := &masker{}
	forms := map[string]bool{}
	for _, secret := range secrets {
		for _, value := range variants(secret) {
			for _, text := range written(value) {
				forms[text] = true
			}
		}
	}
	if len(forms) == 0 {
		return nil
	}
	m.forms = slices.SortedFunc(maps.Keys(forms), func(a, b string) int {
		return cmp.Or(cmp.Compare(len(b), len(a)), cmp.Compare(a, b))
	})
	var pairs []string
	for _, text := range m.forms {
		if isWord(text) {
			m.words = append(m.words, text)
			continue
		}
		pairs = append(pairs, text, masked)
		if len(text) > shortestPart {
			m.whole = append(m.whole, text)
		}
	}
	m.values = strings.NewReplacer(pairs...)
	if len(m.words) > 0 { // a letter behind a backslash stands for a line's end
		m.word = regexp.MustCompile(`(\\[nrt]|\b)(?:` + strings.Join(m.words, "|") + `)\b`)
	}
	return m
}

// longestWord is up to how many letters a value is taken for a word as people write it.
const longestWord = 15

var plainWord = regexp.MustCompile(`^(?:[A-Za-z]?[a-z]*|[A-Z]*)$`)

// isWord reports whether a value is a plain word.
func isWord(value string) bool { return len(value) <= longestWord && plainWord.MatchString(value) }

// text returns s without secrets, and without parts of them where s says that
// something was left out.
func (m *masker) text(s string) string {
	if m == nil {
		return s
	}
	if m.values.Replace(s) != s || slices.ContainsFunc(m.words, func(word string) bool { return strings.Contains(s, word) }) {
		s, _ = m.until(s, 0, len(s))
	}
	return m.atCuts(s)
}

// cuts are the words that stand where a server or a worker left something out.
var cuts = regexp.MustCompile(`\n\[\d+ characters (truncated|left out)\]\n|…( \[\d+ characters left out\])?`)

// mostCuts is at how many such words of a text parts of secrets are looked for.
const mostCuts = 1000

// atCuts masks what cuts have left of values.
func (m *masker) atCuts(s string) string {
	if !strings.Contains(s, "…") && !strings.Contains(s, " characters ") {
		return s
	}
	var b strings.Builder
	done := 0
	for _, cut := range cuts.FindAllStringIndex(s, mostCuts) {
		if cut[0] < done { // in what was masked
			continue
		}
		b.WriteString(m.beforeCut(s[done:cut[0]]) + s[cut[0]:cut[1]])
		done = cut[1]
		if part := m.partAfter(s[done:]); part > 0 {
			b.WriteString(masked)
			done += part
		}
	}
	b.WriteString(s[done:])
	return b.String()
}

// shortestPart is how many bytes a part of a value has at least that is masked beside
// a cut.
const shortestPart = 4

// beforeCut masks the beginning of a value with which a text ends that was cut there.
func (m *masker) beforeCut(s string) string {
	if part := m.begun(s); part > 0 {
		return s[:len(s)-part] + masked
	}
	return s
}

// begun returns how many bytes at the end of a text begin a value, 0 if they are too few.
func (m *masker) begun(s string) (longest int) {
	if len(s) < shortestPart {
		return 0
	}
	for _, form := range m.whole {
		for head := form[:min(len(form)-1, len(s))]; len(head) > longest; head = head[:len(head)-1] {
			at := strings.LastIndex(head, s[len(s)-shortestPart:])
			if at < 0 {
				break
			}
			if head = head[:at+shortestPart]; strings.HasSuffix(s, head) {
				longest = max(longest, len(head))
			}
		}
	}
	return longest
}

// partAfter returns how long the end of a value is with which a text starts that was cut
// there, 0 for none.
func (m *masker) partAfter(s string) (longest int) {
	if len(s) < shortestPart {
		return 0
	}
	for _, form := range m.whole {
		for tail := form[1:]; len(tail) > longest; tail = tail[1:] {
			at := strings.Index(tail, s[:shortestPart])
			if at < 0 {
				break
			}
			if tail = tail[at:]; strings.HasPrefix(s, tail) {
				longest = max(longest, len(tail))
			}
		}
	}
	return longest
}

// json returns a JSON text without secrets: in its strings and, where it is code's and no
// record, in names, and in numbers, which become strings. Without any it is returned as it
// was.
func (m *masker) json(text json.RawMessage, codes bool) (json.RawMessage, error) {
	if m == nil || len(text) == 0 {
		return text, nil
	}
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber()
	var value any
	if err := decoder.Decode(&value); err != nil {
		return nil, err
	}
	before, err := json.Marshal(value)
	if err != nil {
		return nil, err
	}
	after, err := json.Marshal(m.decoded(value, codes))
	if bytes.Equal(before, after) {
		return text, err
	}
	return after, err
}

// decoded masks what a JSON text decodes to.
func (m *masker) decoded(value any, codes bool) any {
	switch v := value.(type) {
	case string:
		return m.text(v)
	case json.Number:
		if clean := m.text(v.String()); codes && clean != v.String() {
			return clean
		}
	case []any:
		for i := range v {
			v[i] = m.decoded(v[i], codes)
		}
	case map[string]any:
		clean := make(map[string]any, len(v))
		for name, one := range v {
			if codes {
				name = m.text(name)
			}
			clean[name] = m.decoded(one, codes)
		}
		return clean
	}
	return value
}

// result returns a copy of a record without secrets: every text of it is masked, so that
// no field can be forgotten, but for those whose values are of a fixed set, or names that
// others look up. The record itself is what the client gets.
func (m *masker) result(original *sessions.Result) (*sessions.Result, error) {
	if m == nil {
		clean := *original
		return &clean, nil
	}
	text, err := json.Marshal(original)
	if err == nil {
		text, err = m.json(text, false)
	}
	clean := &sessions.Result{}
	if err == nil {
		err = json.Unmarshal(text, clean)
	}
	if err != nil {
		return nil, err
	}
	clean.Kind, clean.InterpreterID, clean.Status = original.Kind, original.InterpreterID, original.Status
	clean.ResultEncoding, clean.ExcType = original.ResultEncoding, original.ExcType
	for i, f := range original.Figures {
		clean.Figures[i].MIMEType = f.MIMEType
	}
	for i, a := range original.Artifacts {
		clean.Artifacts[i].MIMEType, clean.Artifacts[i].Kind = a.MIMEType, a.Kind
	}
	if original.Variables != nil && len(original.Variables.More) > 0 {
		clean.Variables.More = map[string]int{}
		for name, n := range original.Variables.More {
			clean.Variables.More[m.text(name)] = n
		}
	}
	if calls := original.ToolCalls; calls != nil {
		clean.ToolCalls.ByTool = m.names(calls.ByTool)
	}
	clean.TermOut = m.pieces(original.TermOut)
	clean.Result, err = m.json(original.Result, true)
	if original.ExcInfo != nil {
		for i, arg := range original.ExcInfo.Args {
			var failed error
			clean.ExcInfo.Args[i], failed = m.json(arg, true)
			err = errors.Join(err, failed)
		}
	}
	return clean, err
}

// pieces masks pieces of two streams by turns. Where the server left some out a marker
// stands alone, and each stream was cut there.
func (m *masker) pieces(all []string) []string {
	clean := make([]string, len(all))
	var markers []int
	for i, piece := range all {
		clean[i] = m.text(piece)
		if found := cuts.FindString(piece); found == piece && strings.HasPrefix(piece, "\n[") {
			markers = append(markers, i)
		}
	}
	for _, at := range markers {
		for i := max(0, at-2); i < at; i++ {
			clean[i] = m.beforeCut(clean[i])
		}
		for i := at + 1; i < min(at+3, len(clean)); i++ {
			if part := m.partAfter(clean[i]); part > 0 {
				clean[i] = masked + clean[i][part:]
			}
		}
	}
	return clean
}

// pieceSize is how much of a file is looked at at once, in bytes.
const pieceSize = 1 << 20

// pass writes what is read without any secret. Of a text that was cut the end may be a
// part of one.
func (m *masker) pass(to io.Writer, from io.Reader, cut bool) error {
	const beside = 2 // bytes before a word and behind it that say whether it is one
	longest := len(m.forms[0])
	buffer := make([]byte, pieceSize+longest+2*beside)
	filled, done := 0, 0
	for {
		n, err := io.ReadFull(from, buffer[filled:])
		filled += n
		last := errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF)
		if err != nil && !last {
			return err
		}
		edge := filled
		if !last { // what begins behind it may be longer than was read
			edge = max(done, filled-longest-beside)
		}
		clean, end := m.until(string(buffer[:filled]), done, edge)
		if clean = m.atCuts(clean); last && cut {
			clean = m.beforeCut(clean)
		}
		if _, err := io.WriteString(to, clean); err != nil || last {
			return err
		}
		kept := max(0, end-beside)
		filled, done = copy(buffer, buffer[kept:filled]), end-kept
	}
}

// until masks a text from start to edge, and on to the end of a value that begins before
// edge. It returns where that is.
func (m *masker) until(text string, start, edge int) (clean string, end int) {
	var b strings.Builder
	next := make([]int, len(m.forms)) // where each form comes
	for i := range next {
		next[i] = m.find(text, m.forms[i], start)
	}
	for {
		first := slices.Min(next)
		if first >= edge {
			break
		}
		b.WriteString(text[start:first] + masked)
		start = first
		for more := true; more; { // values may share letters: none of any is left
			more = false
			for i, form := range m.forms {
				for next[i] < max(start, first+1) {
					start, more = max(start, next[i]+len(form)), true
					next[i] = m.find(text, form, next[i]+1)
				}
			}
		}
	}
	end = max(start, edge)
	b.WriteString(text[start:end])
	return b.String(), end
}

// find returns where a form comes next, a word as one; the text's end if it does not.
func (m *masker) find(text, form string, from int) int {
	for word := slices.Contains(m.words, form); ; from++ {
		at := strings.Index(text[from:], form)
		if at < 0 {
			return len(text)
		}
		if from += at; !word || m.isAlone(text, from, form) {
			return from
		}
	}
}

// isAlone reports whether a word stands alone at a place of a text.
func (m *masker) isAlone(text string, at int, word string) bool {
	near := text[max(0, at-2):min(len(text), at+len(word)+1)]
	found := m.word.FindStringIndex(near)
	return found != nil && found[1] == min(at, 2)+len(word)
}
