package journal

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"maps"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"understudy/sessions"
)

// masked stands where the value of a session variable was.
const masked = "[session variable]"

// masker replaces the values of session variables in what is stored. nil replaces
// nothing.
type masker struct {
	forms  *searcher // as values may be written
	inJSON *searcher // as forms may be written in a JSON text
	// whole are the forms of which also parts are masked, beside a cut.
	whole []string
}

// newMasker returns what masks the secrets, nil if there is nothing to mask.
func newMasker(secrets []string) *masker {
	m := &masker{}
	forms, encoded := map[string]form{}, map[string]form{}
	for _, secret := range secrets {
		for _, value := range variants(secret) {
			for _, text := range written(value) {
				forms[text] = form{text: text, word: isWord(text)}
			}
		}
	}
	if len(forms) == 0 {
		return nil
	}
	for text, f := range forms {
		if !f.word && len(text) > shortestPart {
			m.whole = append(m.whole, text)
		}
		for _, inJSON := range jsonForms(text) {
			encoded[inJSON] = form{text: inJSON}
		}
	}
	m.forms = newSearcher(slices.Collect(maps.Values(forms)))
	m.inJSON = newSearcher(slices.Collect(maps.Values(encoded)))
	return m
}

// text returns s without secrets, and without parts of them where s says that
// something was left out.
func (m *masker) text(s string) string {
	if m == nil {
		return s
	}
	var b strings.Builder
	done := 0
	for start, end := m.forms.find(s, 0); start >= 0; start, end = m.forms.find(s, end) {
		b.WriteString(s[done:start] + masked)
		done = end
	}
	return m.atCuts(b.String() + s[done:])
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
	part := m.longestPart(s, len(s)-shortestPart, func(form string, at int) string { return form[:at+shortestPart] }, strings.HasSuffix)
	if part == 0 {
		return s
	}
	return s[:len(s)-part] + masked
}

// partAfter returns how long the end of a value is with which a text starts that was cut
// there, 0 for none.
func (m *masker) partAfter(s string) int {
	return m.longestPart(s, 0, func(form string, at int) string { return form[at:] }, strings.HasPrefix)
}

// longestPart returns how long the longest part of a form is that is beside a cut. Each has
// the few bytes of s that start there.
func (m *masker) longestPart(s string, there int, partOf func(form string, at int) string, has func(s, part string) bool) (longest int) {
	if len(s) < shortestPart {
		return 0
	}
	few := s[there : there+shortestPart]
	for _, form := range m.whole {
		for from := 0; ; from++ {
			at := strings.Index(form[from:], few)
			if at < 0 {
				break
			}
			from += at
			if part := partOf(form, from); len(part) > longest && has(s, part) {
				longest = len(part)
			}
		}
	}
	return longest
}

// json returns a JSON text without secrets, in strings, in names, and in numbers,
// which become strings. Without any it is returned as it was.
func (m *masker) json(text json.RawMessage) (json.RawMessage, error) {
	if m == nil {
		return text, nil
	}
	all := string(text)
	start, _ := m.inJSON.find(all, 0)
	if start < 0 && !strings.Contains(all, "…") && !strings.Contains(all, `\u2026`) && !strings.Contains(all, " characters ") {
		return text, nil
	}
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber()
	var value any
	if err := decoder.Decode(&value); err != nil {
		return nil, err
	}
	return json.Marshal(m.decoded(value))
}

// decoded masks what a JSON text decodes to.
func (m *masker) decoded(value any) any {
	switch v := value.(type) {
	case string:
		return m.text(v)
	case json.Number:
		if clean := m.text(v.String()); clean != v.String() {
			return clean
		}
	case []any:
		for i := range v {
			v[i] = m.decoded(v[i])
		}
	case map[string]any:
		clean := make(map[string]any, len(v))
		for name, one := range v {
			clean[m.text(name)] = m.decoded(one)
		}
		return clean
	}
	return value
}

// fixed are the fields of records whose values are of a fixed set, or names that others
// look up: what is right for a text would destroy them.
var fixed = map[string]bool{
	"InterpreterID": true, "Status": true, "ResultEncoding": true, "ExcType": true, "MIMEType": true, "Kind": true,
}

// all masks every text that a value reaches, in place: no other field of a record can
// be forgotten.
func (m *masker) all(value reflect.Value) error {
	switch value.Kind() {
	case reflect.String:
		value.SetString(m.text(value.String()))
	case reflect.Pointer:
		if !value.IsNil() {
			return m.all(value.Elem())
		}
	case reflect.Struct:
		for i := range value.NumField() {
			if fixed[value.Type().Field(i).Name] {
				continue
			}
			if err := m.all(value.Field(i)); err != nil {
				return err
			}
		}
	case reflect.Slice:
		return m.slice(value)
	case reflect.Map: // of names to numbers
		clean := reflect.MakeMap(value.Type())
		for name, one := range value.Seq2() {
			clean.SetMapIndex(reflect.ValueOf(m.text(name.String())).Convert(value.Type().Key()), one)
		}
		if value.Len() > 0 {
			value.Set(clean)
		}
	}
	return nil
}

func (m *masker) slice(value reflect.Value) error {
	if raw, ok := value.Interface().(json.RawMessage); ok {
		clean, err := m.json(raw)
		value.Set(reflect.ValueOf(clean))
		return err
	}
	for i := range value.Len() {
		if err := m.all(value.Index(i)); err != nil {
			return err
		}
	}
	return nil
}

// result returns a copy of a record without secrets. The record itself is what the
// client gets.
func (m *masker) result(original *sessions.Result) (*sessions.Result, error) {
	result := *original
	if m == nil {
		return &result, nil
	}
	text, err := json.Marshal(original)
	if err != nil {
		return nil, err
	}
	result = sessions.Result{}
	if err := json.Unmarshal(text, &result); err != nil {
		return nil, err
	}
	result.Kind = original.Kind
	m.streams(result.TermOut)
	return &result, m.all(reflect.ValueOf(&result))
}

// streams masks pieces of two streams by turns, in place: a value that one stream has
// whole may be divided by the other. Where the server left pieces out a marker stands
// alone.
func (m *masker) streams(pieces []string) {
	begin := 0
	for i, piece := range pieces {
		if where := cuts.FindStringIndex(piece); strings.HasPrefix(piece, "\n[") && where != nil && where[1] == len(piece) {
			m.alternating(pieces[begin:i], begin > 0, true)
			begin = i + 1
		}
	}
	m.alternating(pieces[begin:], begin > 0, false)
}

// alternating masks the pieces of each stream, which may be cut before the first and after
// the last. Where a value goes over several the whole stream stands in the first.
func (m *masker) alternating(pieces []string, cutBefore, cutAfter bool) {
	for first := range min(2, len(pieces)) {
		var all, apart strings.Builder
		for i := first; i < len(pieces); i += 2 {
			all.WriteString(pieces[i])
			pieces[i] = m.between(pieces[i], cutBefore && i == first, cutAfter && i+2 >= len(pieces))
			apart.WriteString(pieces[i])
		}
		if clean := m.between(all.String(), cutBefore, cutAfter); clean != apart.String() {
			for i := first; i < len(pieces); i += 2 {
				pieces[i] = ""
			}
			pieces[first] = clean
		}
	}
}

// between masks a text that may be cut before and after.
func (m *masker) between(s string, cutBefore, cutAfter bool) string {
	s = m.text(s)
	if part := m.partAfter(s); cutBefore && part > 0 {
		s = masked + s[part:]
	}
	if cutAfter {
		s = m.beforeCut(s)
	}
	return s
}

// pieceSize is how much of a file is looked at at once, in bytes.
const pieceSize = 1 << 20

// pass writes what is read without any secret. Of a text that was cut the end may be a
// part of one.
func (m *masker) pass(to io.Writer, from io.Reader, cut bool) error {
	const beside = 2 * utf8.UTFMax // what says whether it is a word
	buffer := make([]byte, pieceSize+m.forms.longest+2*beside)
	filled, done := 0, 0
	for {
		n, err := io.ReadFull(from, buffer[filled:])
		filled += n
		last := errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF)
		if err != nil && !last {
			return err
		}
		text, edge := string(buffer[:filled]), filled
		if !last { // a value may go on behind what was read
			edge = max(done, filled-m.forms.longest-beside)
		}
		var clean strings.Builder
		for start, end := m.forms.find(text, done); start >= 0 && start < edge; start, end = m.forms.find(text, done) {
			clean.WriteString(text[done:start] + masked)
			done = end
		}
		rest := text[done:max(done, edge)]
		if last && cut {
			rest = m.beforeCut(rest)
		}
		if _, err := io.WriteString(to, clean.String()+rest); err != nil || last {
			return err
		}
		done = max(done, edge)
		kept := max(0, done-beside)
		filled, done = copy(buffer, buffer[kept:filled]), done-kept
	}
}
