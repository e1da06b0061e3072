package preview

import (
	"archive/zip"
	"bytes"
	"errors"
	"fmt"
	"io"
	"path"
	"strings"
)

// What a workbook may be at most. Excelize parses whole parts into structures that
// take fifty times their bytes, and looks at no clock while it does: what would take
// too much is refused before it sees the file.
const (
	workbookList   = 1 << 20 // bytes of the archive's list of parts
	workbookParts  = 32 << 20
	workbookDense  = 8 << 20 // bytes of its parts, from which they may be
	workbookRatio  = 50      // so many times the bytes of the file
	workbookTags   = 600_000 // outside of the sheets, which are read row by row
	workbookRow    = 200_000 // tags of one row of a sheet
	workbookDepth  = 100
	workbookRepeat = 64 << 20 // bytes of a row all of whose cells hold the longest text
)

var errWorkbook = errors.New("not looked into: too large for a workbook; read it with nrows")

// checkWorkbook refuses a workbook that would take too much memory or time.
func checkWorkbook(b interface{ check() error }, data []byte) error {
	list := &limited{bytes.NewReader(data), workbookList}
	book, err := zip.NewReader(list, int64(len(data)))
	if err != nil {
		return fmt.Errorf("can't be read as a workbook: %w", err)
	}
	list.left = 4 * int64(len(data)) // parts may lie on each other, and be read again
	var unpacked uint64
	for _, part := range book.File {
		unpacked += min(part.UncompressedSize64, workbookParts+1) // so that nothing overflows
		if unpacked > workbookParts || unpacked > workbookDense && unpacked/workbookRatio > uint64(len(data)) {
			return errWorkbook
		}
	}
	t := &tags{budget: b}
	for _, part := range book.File {
		if err := t.part(part); err != nil {
			return err
		}
	}
	if t.longest*t.widest/4 > workbookRepeat { // a cell has four tags or more
		return errWorkbook
	}
	return nil
}

// limited is a file of which only so many bytes may be read.
type limited struct {
	io.ReaderAt
	left int64
}

func (l *limited) ReadAt(p []byte, offset int64) (int, error) {
	if l.left -= int64(len(p)); l.left < 0 {
		return 0, errWorkbook
	}
	return l.ReaderAt.ReadAt(p, offset)
}

// tags counts the tags in the parts of a workbook.
type tags struct {
	budget interface{ check() error }
	others int // outside of the sheets
	// longest is how many bytes a text of the workbook or a format of numbers has,
	// widest how many tags a row has.
	longest, widest int64

	sheet   bool
	unit    string // what texts are counted in: shared strings, or any tag
	depth   int
	inRow   int64
	inUnit  int64
	name    []byte // the beginning of a tag
	inName  bool
	closing bool
	last    byte
}

// part reads through one part. What is not XML is not parsed by anybody.
func (t *tags) part(part *zip.File) error {
	name := strings.ToLower(part.Name)
	if end := path.Ext(name); end != ".xml" && end != ".rels" {
		return nil
	}
	content, err := part.Open()
	if err != nil {
		return fmt.Errorf("can't be read as a workbook: %w", err)
	}
	defer func() { _ = content.Close() }() // it is only read
	t.sheet = strings.Contains(name, "worksheets/")
	t.unit = ""
	if strings.Contains(name, "sharedstrings") {
		t.unit = "si"
	}
	t.depth, t.inRow, t.inUnit, t.inName = 0, 0, 0, false
	buffer := make([]byte, 64<<10)
	for {
		if err := t.budget.check(); errors.Is(err, errTime) {
			return err
		}
		n, err := content.Read(buffer)
		for _, c := range buffer[:n] {
			if over := t.take(c); over != nil {
				return over
			}
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("can't be read as a workbook: %w", err)
		}
	}
}

// take takes a byte of a part.
func (t *tags) take(c byte) error {
	last := t.last
	t.last = c
	if t.inUnit++; !t.sheet {
		t.longest = max(t.longest, t.inUnit)
	}
	switch {
	case c == '<':
		t.inName, t.name, t.closing = true, t.name[:0], false
	case c == '>' && last == '/':
		t.depth--
	case t.inName && c == '/' && len(t.name) == 0:
		t.closing = true
	case t.inName && len(t.name) == 0 && c == '!': // texts and comments in which tags are none
		return errors.New("not looked into: its parts are written as those of no workbook")
	}
	if !t.inName || c == '<' {
		return nil
	}
	if c != '>' && c != ' ' && c != '/' && c != '\n' && c != '\t' && c != '\r' && len(t.name) < 64 {
		t.name = append(t.name, c)
		return nil
	}
	if t.closing && c == '/' {
		return nil
	}
	t.inName = false
	return t.tag(string(t.name[bytes.IndexByte(t.name, ':')+1:]))
}

// tag takes a tag of that name.
func (t *tags) tag(name string) error {
	switch {
	case t.closing:
		t.depth--
	case strings.HasPrefix(name, "?"):
	default:
		t.depth++
	}
	if t.unit == "" || name == t.unit {
		t.inUnit = 0
	}
	if t.inRow++; name == "row" {
		t.inRow = 0
	}
	if t.sheet {
		t.widest = max(t.widest, t.inRow)
	} else {
		t.others++
	}
	if t.depth > workbookDepth || t.others > workbookTags || t.widest > workbookRow {
		return errWorkbook
	}
	return nil
}
