package journal

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"

	"understudy/sessions"
)

// masked stands where the value of a session variable was.
const masked = "[session variable]"

// shortestSecret is how many characters a value has at least that is masked: shorter
// ones are in half of all words.
const shortestSecret = 4

// shortestLine is the same for a line of a value that has several. Lines are shown
// alone, as in tracebacks.
const shortestLine = 16

// masker replaces the values of session variables in what is stored. nil replaces
// nothing.
type masker struct {
	forms  *searcher // as values may be written
	inJSON *searcher // as forms may be written in a JSON text
	parts  *parts
}

// newMasker returns what masks the secrets, nil if there is nothing to mask.
func newMasker(secrets []string) *masker {
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
	for text := range forms {
		for _, inJSON := range jsonForms(text) {
			encoded[inJSON] = form{text: inJSON}
		}
	}
	all := slices.Collect(maps.Values(forms))
	return &masker{
		forms: newSearcher(all), inJSON: newSearcher(slices.Collect(maps.Values(encoded))), parts: newParts(all),
	}
}

// variants returns a value as programs take it: as it is, without the white space
// around it, with other ends of lines, and its long lines.
func variants(secret string) []string {
	var all []string
	add := func(value string, shortest int) {
		if utf8.RuneCountInString(value) >= shortest && !slices.Contains(all, value) {
			all = append(all, value)
		}
	}
	add(secret, shortestSecret)
	add(strings.TrimSpace(secret), shortestSecret)
	unix := strings.ReplaceAll(secret, "\r\n", "\n")
	add(unix, shortestSecret)
	add(strings.ReplaceAll(unix, "\n", "\r\n"), shortestSecret)
	if strings.Contains(unix, "\n") {
		for line := range strings.Lines(unix) {
			add(strings.TrimSpace(line), shortestLine)
		}
	}
	return all
}

// written returns the forms that a value has in texts: plain, in JSON, and in what
// Python's repr makes of a str, of bytes, and as ascii() does.
func written(value string) []string {
	forms := append(jsonForms(value), value)
	for _, quote := range []rune{'\'', '"', 0} {
		forms = append(forms, repr(value, quote, false), repr(value, quote, true), bytesRepr(value, quote))
	}
	return forms
}

// jsonForms returns a text as encoders write it between the quotes of JSON.
func jsonForms(text string) []string {
	var b bytes.Buffer
	encoder := json.NewEncoder(&b)
	forms := []string{asciiJSON(text)}
	for _, html := range []bool{true, false} {
		b.Reset()
		encoder.SetEscapeHTML(html)
		if err := encoder.Encode(text); err != nil { // a string always encodes
			panic(err)
		}
		inner := strings.TrimSuffix(b.String(), "\n")
		inner = inner[1 : len(inner)-1]
		forms = append(forms, inner, strings.NewReplacer(`\u2028`, "\u2028", `\u2029`, "\u2029").Replace(inner))
	}
	return append(forms, strings.ReplaceAll(forms[3], "/", `\/`))
}

// asciiJSON is how Python writes a text in JSON unless it is told otherwise.
func asciiJSON(text string) string {
	short := map[rune]string{'"': `\"`, '\\': `\\`, '\n': `\n`, '\r': `\r`, '\t': `\t`, '\b': `\b`, '\f': `\f`}
	var b strings.Builder
	for _, r := range text {
		switch s, ok := short[r]; {
		case ok:
			b.WriteString(s)
		case r >= ' ' && r <= '~':
			b.WriteRune(r)
		case r > 0xffff:
			high, low := utf16.EncodeRune(r)
			fmt.Fprintf(&b, `\u%04x\u%04x`, high, low)
		default:
			fmt.Fprintf(&b, `\u%04x`, r)
		}
	}
	return b.String()
}

// repr is how Python writes a str between quotes; ascii escapes all that is not.
func repr(text string, quote rune, ascii bool) string {
	var b strings.Builder
	for _, r := range text {
		switch {
		case r == quote || r == '\\':
			b.WriteRune('\\')
			b.WriteRune(r)
		case r == '\n':
			b.WriteString(`\n`)
		case r == '\r':
			b.WriteString(`\r`)
		case r == '\t':
			b.WriteString(`\t`)
		case r < utf8.RuneSelf && unicode.IsPrint(r), r >= utf8.RuneSelf && !ascii && unicode.IsPrint(r):
			b.WriteRune(r)
		case r <= 0xff:
			fmt.Fprintf(&b, `\x%02x`, r)
		case r <= 0xffff:
			fmt.Fprintf(&b, `\u%04x`, r)
		default:
			fmt.Fprintf(&b, `\U%08x`, r)
		}
	}
	return b.String()
}

// bytesRepr is how Python writes the text's UTF-8 between quotes.
func bytesRepr(text string, quote rune) string {
	var b strings.Builder
	for _, c := range []byte(text) {
		switch {
		case c < ' ' || c < utf8.RuneSelf && c != 0x7f:
			b.WriteString(repr(string(rune(c)), quote, true))
		default:
			fmt.Fprintf(&b, `\x%02x`, c)
		}
	}
	return b.String()
}

// text returns s without secrets, and without parts of them where s says that
// something was left out.
func (m *masker) text(s string) string {
	if m == nil {
		return s
	}
	return m.atCuts(m.replace(s))
}

func (m *masker) replace(s string) string {
	var b strings.Builder
	done := 0
	for start, end := m.forms.find(s, 0); start >= 0; start, end = m.forms.find(s, end) {
		b.WriteString(s[done:start])
		b.WriteString(masked)
		done = end
	}
	if done == 0 {
		return s
	}
	b.WriteString(s[done:])
	return b.String()
}

func (m *masker) within(s string) bool {
	start, _ := m.forms.find(s, 0)
	return start >= 0
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
		b.WriteString(m.beforeCut(s[done:cut[0]]))
		after := s[cut[1]:]
		rest := m.afterCut(after)
		b.WriteString(s[cut[0]:cut[1]])
		if done = cut[1]; rest != after {
			b.WriteString(masked)
			done = len(s) - (len(rest) - len(masked))
		}
	}
	b.WriteString(s[done:])
	return b.String()
}

// beforeCut masks the beginning of a value with which a text ends that was cut there.
func (m *masker) beforeCut(s string) string {
	if m == nil {
		return s
	}
	if at := m.parts.atEnd(s); at < len(s) {
		return s[:at] + masked
	}
	return s
}

// afterCut masks the end of a value with which a text starts that was cut there.
func (m *masker) afterCut(s string) string {
	if m == nil {
		return s
	}
	if at := m.parts.atStart(s); at > 0 {
		return masked + s[at:]
	}
	return s
}

// json returns a JSON text without secrets, in strings, in names, and in numbers,
// which become strings. Without any it is returned as it was.
func (m *masker) json(text json.RawMessage) (json.RawMessage, error) {
	if m == nil {
		return text, nil
	}
	if start, _ := m.inJSON.find(string(text), 0); start < 0 && !bytes.Contains(text, []byte("…")) && !bytes.Contains(text, []byte(`\u2026`)) && !bytes.Contains(text, []byte(" characters ")) {
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
		if m.within(v.String()) {
			return m.text(v.String())
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

// report returns how a trial is judged without secrets. The report itself is what the
// client gets.
func (m *masker) report(original *sessions.TrialReport) *sessions.TrialReport {
	if m == nil || original == nil {
		return original
	}
	clean := *original
	clean.Why, clean.Name = m.text(clean.Why), m.text(clean.Name)
	return &clean
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

// streams masks pieces of two streams by turns, in place: a value that one stream has
// whole may be divided by the other. Where the server left pieces out a marker stands
// alone.
func (m *masker) streams(pieces []string) {
	if m == nil {
		return
	}
	begin := 0
	for i, piece := range pieces {
		if where := cuts.FindStringIndex(piece); strings.HasPrefix(piece, "\n[") && where != nil && where[1]-where[0] == len(piece) {
			m.alternating(pieces[begin:i])
			for before := max(begin, i-2); before < i; before++ {
				pieces[before] = m.beforeCut(pieces[before])
			}
			begin = i + 1
			for after := begin; after < min(begin+2, len(pieces)); after++ {
				pieces[after] = m.afterCut(pieces[after])
			}
		}
	}
	m.alternating(pieces[begin:])
}

func (m *masker) alternating(pieces []string) {
	for first := range min(2, len(pieces)) {
		var all strings.Builder
		for i := first; i < len(pieces); i += 2 {
			all.WriteString(pieces[i])
		}
		m.divided(pieces, first, all.String())
	}
}

// divided masks every other piece; all is their text. What stands for a value is where
// that began.
func (m *masker) divided(pieces []string, first int, all string) {
	start, end := m.forms.find(all, 0)
	from := 0
	for i := first; i < len(pieces) && start >= 0; i += 2 {
		to := from + len(pieces[i])
		var b strings.Builder
		for at := from; at < to; {
			switch {
			case start < 0 || start >= to:
				b.WriteString(all[at:to])
				at = to
			case at <= start:
				b.WriteString(all[at:start])
				b.WriteString(masked)
				at = min(end, to)
			default: // in a value that began in a piece before
				at = min(end, to)
			}
			if start >= 0 && at == end {
				start, end = m.forms.find(all, end)
			}
		}
		pieces[i], from = b.String(), to
	}
}

// pieceSize is how much of a file is looked at at once, in bytes.
const pieceSize = 1 << 20

// pass reports whether what is read holds a secret, and writes it without any. Where
// to is nil it ends with the first. Of a text that was cut the end may be a part of one.
func (m *masker) pass(ctx context.Context, to io.Writer, from io.Reader, cut bool) (found bool, err error) {
	const beside = 2 * utf8.UTFMax // what says whether it is a word
	buffer := make([]byte, pieceSize+m.forms.longest+2*beside)
	filled, done := 0, 0
	write := func(text string) {
		if to != nil && err == nil {
			_, err = io.WriteString(to, text)
		}
	}
	for {
		n, failed := io.ReadFull(from, buffer[filled:])
		filled += n
		last := errors.Is(failed, io.EOF) || errors.Is(failed, io.ErrUnexpectedEOF)
		if err := ctx.Err(); err != nil || failed != nil && !last {
			return found, errors.Join(err, failed)
		}
		text, edge := string(buffer[:filled]), filled
		if !last { // a value may go on behind what was read
			edge = max(done, filled-m.forms.longest-beside)
		}
		for start, end := m.forms.find(text, done); start >= 0 && start < edge; start, end = m.forms.find(text, done) {
			found = true
			write(text[done:start] + masked)
			if done = end; to == nil || err != nil {
				return found, err
			}
		}
		if last {
			rest := text[done:]
			if cut {
				clean := m.beforeCut(rest)
				found, rest = found || clean != rest, clean
			}
			write(rest)
			return found, err
		}
		if done < edge {
			write(text[done:edge])
			done = edge
		}
		kept := max(0, done-beside)
		filled, done = copy(buffer, buffer[kept:filled]), done-kept
	}
}
