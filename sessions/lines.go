package sessions

import (
	"bytes"
	"context"
	"io"
	"sort"
	"sync"
)

// lineStep is how many bytes lie between two marks of a lineIndex: what a read
// scans at most to find its line, once the text before has been seen.
const lineStep = 1 << 20

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
	for x.last() < before && x.seen()+lineStep <= size {
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
