package preview

import (
	"bytes"
	"errors"
	"fmt"
	"io"
)

// readJSON describes a JSON document by its shape. Of a large one the beginning is
// read; a file of several documents is read as lines.
func readJSON(s *source, e *entry) (section, error) {
	t, err := takeSample(s, e)
	if err != nil {
		return section{}, err
	}
	head := t.blocks[0]
	if isBinary(head) {
		return section{}, errors.New("not a text")
	}
	d := newShaper(bytes.NewReader(strict(head)), s.check)
	top := &shape{}
	err = d.value(top, 0)
	cut := !t.whole && (errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF))
	switch {
	case cut:
	case errors.Is(err, errTime):
		return section{}, err
	case err != nil:
		return section{}, fmt.Errorf("%w at byte %d", errNoJSON, d.InputOffset())
	default:
		if _, err := d.Token(); !errors.Is(err, io.EOF) {
			return linesOf(s, t)
		}
	}
	words := "JSON: " + top.describe()
	if cut {
		words = fmt.Sprintf("JSON, of which the first %s were read: %s (its end was not seen)", bytesInWords(int64(len(head))), top.describe())
	}
	return section{head: words, full: top.lines(0), simple: top.names()}, nil
}

// readJSONLines describes a file with a JSON value on each line.
func readJSONLines(s *source, e *entry) (section, error) {
	t, err := takeSample(s, e)
	if err != nil {
		return section{}, err
	}
	if isBinary(t.blocks[0]) {
		return section{}, errors.New("not a text")
	}
	return linesOf(s, t)
}

func linesOf(b interface{ check() error }, t *sample) (section, error) {
	top := &shape{}
	keys := mostShapes
	lines, broken, used := 0, 0, 0
	for i, block := range t.blocks {
		if i > 0 { // a line end within a string is written as \n
			block = afterLine(block)
		}
		for len(block) > 0 {
			line, rest, ended := bytes.Cut(block, []byte{'\n'})
			if !ended && !t.whole {
				break
			}
			if errors.Is(b.check(), errTime) {
				return section{}, errTime
			}
			used += len(block) - len(rest)
			block = rest
			if len(bytes.TrimSpace(line)) == 0 {
				continue
			}
			lines++
			d := newShaper(bytes.NewReader(strict(line)), b.check)
			d.left = keys
			if err := d.value(top, 0); err != nil {
				broken++
			}
			keys = d.left
		}
	}
	switch {
	case lines == 0:
		return section{}, fmt.Errorf("not looked into: its first line is longer than %s", bytesInWords(int64(len(t.blocks[0]))))
	case broken == lines:
		return section{}, errNoJSON
	}
	words := "JSON lines: " + count(int64(lines), "line")
	if !t.whole {
		words = fmt.Sprintf("JSON lines: about %s, from a sample of %s", count(about(t.size*float64(lines)/(float64(used)*t.wide)), "line"), count(int64(lines), "line"))
	}
	words += ", each " + top.describe()
	if broken > 0 {
		words += fmt.Sprintf("; %s of the lines are not valid JSON", share(broken, lines))
	}
	return section{head: words, full: top.lines(0), simple: top.names()}, nil
}

// strict replaces by null what Python's json writes and JSON does not have: NaN and
// Infinity, outside of texts.
func strict(text []byte) []byte {
	if !bytes.Contains(text, []byte("NaN")) && !bytes.Contains(text, []byte("Infinity")) {
		return text
	}
	fixed := make([]byte, 0, len(text))
	inText := false
	for i := 0; i < len(text); i++ {
		c := text[i]
		if inText {
			if c == '\\' && i+1 < len(text) {
				fixed = append(fixed, c)
				i++
				c = text[i]
			} else if c == '"' {
				inText = false
			}
			fixed = append(fixed, c)
			continue
		}
		replaced := false
		for _, word := range []string{"NaN", "-Infinity", "Infinity"} {
			if bytes.HasPrefix(text[i:], []byte(word)) {
				fixed = append(fixed, "null"...)
				i += len(word) - 1
				replaced = true
				break
			}
		}
		if !replaced {
			inText = c == '"'
			fixed = append(fixed, c)
		}
	}
	return fixed
}
