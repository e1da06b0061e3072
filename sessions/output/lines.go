package output

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"sort"
	"sync"
	"time"
)

// lineStep is how many bytes lie between two marks of a lineIndex: what a read
// scans at most to find its line, once the text before has been seen.
const lineStep = 1 << 20

// scanBytes is how many bytes one read looks through for its lines. The next one
// goes on from there, so that any text is read in the end.
const scanBytes = 1 << 30

// lineIndex remembers how many lines end before every lineStep bytes of a text
// that only grows. It is filled as far as readers come, so that a page of a
// text of a gigabyte costs a page, and the first leap to its end one pass.
type lineIndex struct {
	mu    sync.Mutex
	marks []int // marks[k] counts the newlines of the first (k+1)*lineStep bytes
}

// offset returns where the line with that many lines before it begins. When the
// text has fewer it returns the size, and how many newlines there are in all.
func (x *lineIndex) offset(ctx context.Context, text io.ReaderAt, size int64, before int) (at int64, lines int, err error) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if before <= 0 {
		return 0, 0, nil
	}
	part := make([]byte, min(lineStep, size))
	for most := x.seen() + scanBytes; x.last() < before && x.seen()+lineStep <= size; {
		if x.seen() >= most {
			return 0, 0, x.tooFar(size)
		}
		if err := x.extend(ctx, text, part); err != nil {
			return 0, 0, err
		}
	}
	k := sort.SearchInts(x.marks, before) // the first mark that may lie behind the line's beginning
	from, lines := int64(k)*lineStep, 0
	if k > 0 {
		lines = x.marks[k-1]
	}
	part = part[:min(lineStep, size-from)]
	if err := readFull(text, part, from); err != nil {
		return 0, 0, err
	}
	for done := 0; ; lines++ {
		if lines == before {
			return from + int64(done), lines, nil
		}
		end := bytes.IndexByte(part[done:], '\n')
		if end < 0 {
			return size, lines, nil
		}
		done += end + 1
	}
}

// tooFar says how far a read came that looked for lines.
func (x *lineIndex) tooFar(size int64) error {
	return &RangeError{TooFar: true, Reason: fmt.Sprintf("the text is long (%d bytes): its first %d bytes have been looked through and hold %d lines. Read again to look further, or read lines before that, or let code read it", size, x.seen(), x.last())}
}

// last returns the newlines before the last mark, which lies at seen.
func (x *lineIndex) last() int {
	if len(x.marks) == 0 {
		return 0
	}
	return x.marks[len(x.marks)-1]
}

func (x *lineIndex) seen() int64 { return int64(len(x.marks)) * lineStep }

// extend counts the next step of the text, which part has room for.
func (x *lineIndex) extend(ctx context.Context, text io.ReaderAt, part []byte) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if err := readFull(text, part, x.seen()); err != nil {
		return err
	}
	x.marks = append(x.marks, x.last()+bytes.Count(part, []byte{'\n'}))
	return nil
}

// readFull fills p. A text that ends before is an error: it was cut behind our
// back.
func readFull(text io.ReaderAt, p []byte, at int64) error {
	n, err := text.ReadAt(p, at)
	if n == len(p) {
		return nil
	}
	if err == nil || err == io.EOF {
		err = io.ErrUnexpectedEOF
	}
	return err
}

// keptIndexes is how many files a Pager remembers the lines of.
const keptIndexes = 8

// Pager reads files a page at a time, and remembers where the lines begin in those that were
// read last.
type Pager struct {
	mu  sync.Mutex
	all []indexed // the latest first
}

// Read returns the lines of a file that r asks for. Its errors are a *RangeError, and
// io.ErrUnexpectedEOF where the file was cut meanwhile. path tells it from other files.
func (p *Pager) Read(ctx context.Context, path string, file io.ReaderAt, info fs.FileInfo, r Range) (*Page, error) {
	return document{file, info.Size(), p.linesOf(path, info)}.read(ctx, r)
}

// indexed is a file as it was when its lines were counted.
type indexed struct {
	path  string
	size  int64
	mtime time.Time
	lines *lineIndex
}

// linesOf returns the index of a file: a new one if it has changed since.
func (p *Pager) linesOf(path string, info fs.FileInfo) *lineIndex {
	p.mu.Lock()
	defer p.mu.Unlock()
	wanted := indexed{path, info.Size(), info.ModTime(), &lineIndex{}}
	p.all = slices.DeleteFunc(p.all, func(other indexed) bool {
		if other.path != path {
			return false
		}
		if other.size == wanted.size && other.mtime.Equal(wanted.mtime) {
			wanted.lines = other.lines
		}
		return true
	})
	p.all = append([]indexed{wanted}, p.all...)[:min(len(p.all)+1, keptIndexes)]
	return wanted.lines
}
