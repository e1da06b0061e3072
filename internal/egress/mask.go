package egress

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"html"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
)

// masker finds the forms in which a secret may come back, in upper and lower case, and puts
// its placeholder there.
type masker struct {
	forms   [256][]form // by their first byte
	longest int
}

// form is one way to write a secret.
type form struct {
	text        []byte // in lower case
	placeholder string
}

func (m *masker) add(s *secret) {
	for _, text := range formsOf(s.value) {
		text := bytes.ToLower([]byte(text))
		m.longest = max(m.longest, len(text))
		m.forms[text[0]] = append(m.forms[text[0]], form{text, s.placeholder})
	}
}

// formsOf are the ways in which programs write a text: as it is, in URLs, JSON, HTML, in
// hexadecimal digits, and in base64 with anything before and behind it.
func formsOf(value string) []string {
	percent := ""
	for _, c := range []byte(value) {
		percent += fmt.Sprintf("%%%02x", c)
	}
	inJSON, _ := json.Marshal(value) // a string always can
	var plain bytes.Buffer
	encoder := json.NewEncoder(&plain)
	encoder.SetEscapeHTML(false)
	_ = encoder.Encode(value)
	query := url.QueryEscape(value)
	all := []string{
		value, query, strings.ReplaceAll(query, "+", "%20"), url.PathEscape(value), percent,
		strings.Trim(string(inJSON), `"`), strings.Trim(strings.TrimSpace(plain.String()), `"`),
		strings.ReplaceAll(strings.Trim(strings.TrimSpace(plain.String()), `"`), "/", `\/`), strings.ReplaceAll(query, "%2F", "/"),
		html.EscapeString(value), hex.EncodeToString([]byte(value)),
	}
	for _, encoding := range []*base64.Encoding{base64.RawStdEncoding, base64.RawURLEncoding} {
		for before, first := range []int{0, 2, 3} { // the first character without a bit of what is before
			text := encoding.EncodeToString(append(make([]byte, before), value...))
			all = append(all, text[first:(before+len(value))*8/6])
		}
	}
	slices.Sort(all)
	return slices.DeleteFunc(slices.Compact(all), func(text string) bool { return text == "" })
}

// mask appends text to to, masked, and returns what is left over: the beginning of what may be
// a form once more has come. At the end nothing is. A placeholder of the same length keeps
// what counts bytes, as frames of websockets.
//
// What is left over is as long whatever it says, unless it is wanted promptly: where text is
// cut would tell code, which may have had the host repeat a guess, how much of it is right.
func (m *masker) mask(to, text []byte, atEnd, prompt, sameLength bool) (masked, rest []byte) {
	kept := 0
	for i := 0; i < len(text); {
		found, mayCome := m.find(text[i:])
		if !atEnd && (mayCome || !prompt && len(text)-i < m.longest) {
			return append(to, text[kept:i]...), text[i:]
		}
		if found == nil {
			i++
			continue
		}
		to = append(to, text[kept:i]...)
		i += len(found.text)
		kept = i
		if sameLength {
			to = append(to, bytes.Repeat([]byte("*"), len(found.text))...)
		} else {
			to = append(to, found.placeholder...)
		}
	}
	return append(to, text[kept:]...), nil
}

// find returns the longest form that a text begins with, and whether a longer one may come.
func (m *masker) find(text []byte) (found *form, mayCome bool) {
	forms := m.forms[lower(text[0])]
	for i := range forms {
		f := &forms[i]
		n := 1
		for n < len(f.text) && n < len(text) && lower(text[n]) == f.text[n] {
			n++
		}
		switch {
		case n == len(f.text):
			if found == nil || n > len(found.text) {
				found = f
			}
		case n == len(text):
			mayCome = true
		}
	}
	return found, mayCome
}

func lower(c byte) byte {
	if 'A' <= c && c <= 'Z' {
		return c + 'a' - 'A'
	}
	return c
}

// text masks a text that is there as a whole.
func (m *masker) text(text string) string {
	masked, _ := m.mask(nil, []byte(text), true, false, false)
	return string(masked)
}

// header masks values; names that a secret is in go.
func (m *masker) header(h http.Header) {
	for name, values := range h {
		if m.text(name) != name {
			delete(h, name)
			continue
		}
		for i := range values {
			values[i] = m.text(values[i])
		}
	}
}

// reading is how much is read at once.
const reading = 16 << 10

// maskedBody is a body without secrets. It holds back what may be a secret's beginning.
type maskedBody struct {
	io.ReadCloser
	mask       *masker
	prompt     bool // nothing waits that can't be a secret's beginning
	sameLength bool
	atEnd      func() // once all was read

	buffer, masked []byte
	rest           int    // of buffer, left from the last time
	ready          []byte // of masked, to be read
	err            error
}

func (b *maskedBody) Read(p []byte) (int, error) {
	if b.buffer == nil {
		b.buffer = make([]byte, b.mask.longest+reading)
	}
	for len(b.ready) == 0 {
		if b.err != nil {
			return 0, b.err
		}
		var n int
		n, b.err = b.ReadCloser.Read(b.buffer[b.rest:])
		if b.err != nil && b.atEnd != nil {
			b.atEnd()
		}
		var rest []byte
		b.masked, rest = b.mask.mask(b.masked[:0], b.buffer[:b.rest+n], b.err != nil, b.prompt, b.sameLength)
		b.ready, b.rest = b.masked, copy(b.buffer, rest)
	}
	n := copy(p, b.ready)
	b.ready = b.ready[n:]
	return n, nil
}
