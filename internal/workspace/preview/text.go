package preview

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
)

const (
	shortText  = 30   // lines; shorter texts are given whole
	shortChars = 2500 // characters that such a text may have
	firstLines = 8    // of a longer one
	mostOfLine = 160  // characters
)

// readText gives a short text whole and of a longer one the beginning.
func readText(s *source, e *entry) (section, error) {
	t, err := takeSample(s, e)
	if err != nil {
		return section{}, err
	}
	return t.text()
}

func (t *sample) text() (section, error) {
	head := t.blocks[0]
	if isBinary(head) {
		return section{}, errNothing
	}
	plain := strings.ToValidUTF8(string(head), "\uFFFD")
	plain = strings.NewReplacer("\r\n", "\n", "\r", "\n").Replace(plain)
	lines := strings.Split(strings.TrimSuffix(plain, "\n"), "\n")
	words := "Text"
	if t.encoding != "" {
		words += ", encoding " + t.encoding
	}
	whole := t.whole && len(lines) < shortText && len(plain) <= shortChars
	if !t.whole {
		words += fmt.Sprintf(", about %s", count(about(t.size/max(1, float64(len(plain))*t.wide)*float64(len(lines))), "line"))
	} else {
		words += ", " + count(int64(len(lines)), "line")
	}
	s := section{head: words + ":", simple: ""}
	shown := lines
	if !whole {
		shown = lines[:min(firstLines, len(lines))]
		s.head = words + "; it begins:"
	}
	for i, line := range shown {
		shown[i] = cleanLine(line)
	}
	text := strings.Join(shown, "\n")
	fence := fenceFor(text)
	s.full = []string{fence, text, fence}
	return s, nil
}

// cleanLine is clean for a line of text, in which tabs may stand.
func cleanLine(line string) string {
	return strings.TrimRight(clean(strings.ReplaceAll(line, "\t", "    "), mostOfLine), " ")
}

// readTextOrTable is for names that say little: a text of which nearly all lines
// have the same number of fields is a table.
func readTextOrTable(s *source, e *entry) (section, error) {
	t, err := takeSample(s, e)
	if err != nil {
		return section{}, err
	}
	head := t.blocks[0]
	if isBinary(head) {
		return section{}, errNothing
	}
	l := sniff(head, e.name, t.whole)
	if l.fields < 3 || l.fit < 0.95 || bytes.Count(head, []byte{'\n'}) < 5 {
		return t.text()
	}
	table, err := tabulate(s, t, l)
	if err != nil {
		return section{}, err
	}
	return table.section(delimited(l, t)), nil
}

var errNoJSON = errors.New("not valid JSON")
