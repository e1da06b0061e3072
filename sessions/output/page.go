package output

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"regexp"
	"strconv"
	"sync/atomic"
)

// Bounds of one read of a text.
const (
	pageBytes    = 100_000   // of text that a page holds
	lineStep     = 1 << 20   // that are looked through at once
	searchBytes  = 256 << 20 // that one read searches
	longestMatch = 1_000     // bytes that are shown of a matching line
	longestWords = 1_000     // bytes of Range.Match
)

// ScanBytes is how much of a text lines are counted in, from its beginning.
const ScanBytes = 1 << 30

// Range says which lines of a text to read.
type Range struct {
	// From is the number of the first line, from 1; a negative one counts from
	// the end, -1 being the last line. 0 is the beginning.
	From int
	// Lines is how many to read at most; 0 is as many as a page holds.
	Lines int
	// Match reads only the lines that match it, each with its number: a regular
	// expression in RE2's syntax, or plain text where it is none.
	Match string
}

// IsZero reports whether the whole text is meant.
func (r Range) IsZero() bool { return r == Range{} }

// RangeError says why a Range can't be read.
type RangeError struct {
	Reason string
	TooFar bool // nothing is wrong with the Range: one read does not come that far
}

func (e *RangeError) Error() string { return e.Reason }

func (r Range) check() error {
	switch {
	case r.Lines < 0:
		return &RangeError{Reason: fmt.Sprintf("lines must be at least 1, not %d", r.Lines)}
	case len(r.Match) > longestWords:
		return &RangeError{Reason: fmt.Sprintf("match is %d bytes long, and at most %d are taken", len(r.Match), longestWords)}
	}
	return nil
}

// Page is a part of a text.
type Page struct {
	Text string
	// First and Last are the numbers of the lines that Text holds, or that were
	// searched for matches; Last is First-1 when there are none.
	First, Last int
	// Found is how many lines match, in a page of matches.
	Found int
	// Next is the line to go on with; 0 at the end.
	Next int
	// Cut is set when Last is longer than a page and only its beginning is here.
	Cut bool
	// Size is how many bytes the whole text has, Lost how many more were not kept.
	Size, Lost int64
	// Path is the file of the whole text, if it has one.
	Path string
	// Running is set while the text may still grow.
	Running bool
}

// Whole reports whether the page is all there is.
func (p *Page) Whole() bool { return p.First == 1 && p.Next == 0 && !p.Cut && p.Lost == 0 }

// ReadPage returns the lines that r asks for of a text of that size. Its errors are a
// *RangeError, and io.ErrUnexpectedEOF where the text was cut meanwhile.
func ReadPage(ctx context.Context, text io.ReaderAt, size int64, r Range) (*Page, error) {
	return document{text, size, new(atomic.Pointer[place])}.read(ctx, r)
}

func (d document) read(ctx context.Context, r Range) (*Page, error) {
	if err := r.check(); err != nil {
		return nil, err
	}
	first, err := d.first(ctx, r.From)
	if err != nil {
		return nil, err
	}
	at, _, err := d.skip(ctx, first-1)
	if err != nil {
		return nil, err
	}
	page := &Page{First: first, Last: first - 1, Size: d.size}
	if at >= d.size {
		return page, nil
	}
	if r.Lines == 0 {
		r.Lines = math.MaxInt
	}
	if r.Match != "" {
		return page, d.search(ctx, page, at, r)
	}
	return page, d.lineUp(page, at, r.Lines)
}

// document is a text of any length.
type document struct {
	text io.ReaderAt
	size int64
	last *atomic.Pointer[place] // where the last page began: what comes later is counted from there
}

// place is the beginning of a line.
type place struct {
	at    int64
	lines int // before it
}

// first turns Range.From into a line's number.
func (d document) first(ctx context.Context, from int) (int, error) {
	if from >= 0 {
		return max(1, from), nil
	}
	_, lines, err := d.skip(ctx, math.MaxInt)
	if err != nil || d.size == 0 {
		return 1, err
	}
	last := make([]byte, 1)
	if err := d.readFull(last, d.size-1); err != nil {
		return 1, err
	}
	if last[0] != '\n' {
		lines++
	}
	return max(1, lines+1+from), nil
}

// skip returns where the text goes on behind so many lines, or its end, and how many lines
// there were.
func (d document) skip(ctx context.Context, lines int) (at int64, seen int, err error) {
	if last := d.last.Load(); last != nil && last.lines <= lines {
		at, seen = last.at, last.lines
	}
	buffer := make([]byte, min(lineStep, d.size))
	for at < d.size && seen < lines {
		if at >= ScanBytes {
			return 0, 0, &RangeError{TooFar: true, Reason: fmt.Sprintf("the text is long (%d bytes): its first %d bytes hold %d lines, and what comes after them can't be read by lines. Read lines before that, or let code read it", d.size, at, seen)}
		}
		part := buffer[:min(lineStep, d.size-at)]
		if err := errors.Join(ctx.Err(), d.readFull(part, at)); err != nil {
			return 0, 0, err
		}
		if count := bytes.Count(part, []byte{'\n'}); seen+count < lines {
			at, seen = at+int64(len(part)), seen+count
			continue
		}
		for ; seen < lines; seen++ {
			end := bytes.IndexByte(part, '\n') + 1
			at, part = at+int64(end), part[end:]
		}
	}
	if seen == lines {
		d.last.Store(&place{at, lines})
	}
	return at, seen, nil
}

// readFull fills p. A text that ends before is an error: it was cut behind our back.
func (d document) readFull(p []byte, at int64) error {
	n, err := d.text.ReadAt(p, at)
	switch {
	case n == len(p):
		return nil
	case err == nil, errors.Is(err, io.EOF):
		return io.ErrUnexpectedEOF
	}
	return err
}

// lineUp fills the page with whole lines from the offset on, or with the
// beginning of one that is longer than a page.
func (d document) lineUp(page *Page, at int64, most int) error {
	part := make([]byte, min(pageBytes, d.size-at))
	if err := d.readFull(part, at); err != nil {
		return err
	}
	end := 0
	for ; page.Last-page.First+1 < most; page.Last++ {
		i := bytes.IndexByte(part[end:], '\n')
		if i < 0 {
			break
		}
		end += i + 1
	}
	wanted := page.Last-page.First+1 < most
	switch rest := at + int64(len(part)); {
	case wanted && rest == d.size && end < len(part): // the last line, without a newline
		end, page.Last = len(part), page.Last+1
	case wanted && end == 0:
		end, page.Last, page.Cut = wholeCharacters(part), page.Last+1, true
	}
	page.Text = string(valid(part[:end]))
	if at+int64(end) < d.size {
		page.Next = page.Last + 1
	}
	return nil
}

// search fills the page with the matching lines from the offset on.
func (d document) search(ctx context.Context, page *Page, at int64, r Range) error {
	find := finder(r.Match)
	end := min(d.size, at+searchBytes)
	reader := bufio.NewReaderSize(io.NewSectionReader(d.text, at, end-at), lineStep)
	var text []byte
	for {
		line, isWhole, err := nextLine(reader)
		if err := errors.Join(ctx.Err(), err); err != nil {
			return err
		}
		if line == nil || !isWhole && end < d.size { // the bound came first, perhaps within a line
			page.Text = string(text)
			if end < d.size {
				page.Last = max(page.First, page.Last)
				page.Next = page.Last + 1
			}
			return nil
		}
		if found := find(line); found != nil {
			shown := matchLine(page.Last+1, line, found)
			if page.Found == r.Lines || page.Found > 0 && len(text)+len(shown) > pageBytes {
				page.Text, page.Next = string(text), page.Last+1
				return nil
			}
			text = append(text, shown...)
			page.Found++
		}
		page.Last++
	}
}

// nextLine returns the next line without its newline, of a very long one the first lineStep
// bytes, nil at the end of the text. isWhole reports whether it ends with a newline. The
// slice is good until the next read.
func nextLine(reader *bufio.Reader) (line []byte, isWhole bool, err error) {
	line, err = reader.ReadSlice('\n')
	if errors.Is(err, bufio.ErrBufferFull) {
		line = bytes.Clone(line)
		for errors.Is(err, bufio.ErrBufferFull) {
			_, err = reader.ReadSlice('\n')
		}
	}
	switch {
	case err == nil:
		return bytes.TrimSuffix(line, []byte{'\n'}), true, nil
	case !errors.Is(err, io.EOF):
		return nil, false, err
	case len(line) == 0:
		return nil, false, nil
	}
	return line, false, nil
}

// finder returns what finds the place of a match in a line, nil without one.
func finder(match string) func([]byte) []int {
	pattern, err := regexp.Compile(match)
	if err == nil {
		return pattern.FindIndex
	}
	return func(line []byte) []int { // it may be no UTF-8, which no pattern can hold
		if i := bytes.Index(line, []byte(match)); i >= 0 {
			return []int{i, i + len(match)}
		}
		return nil
	}
}

// matchLine is a matching line as a page shows it: of a long one what is around
// the match.
func matchLine(number int, line []byte, found []int) string {
	start := runeStart(line, max(0, min(found[0]-longestMatch/4, len(line)-longestMatch)))
	end := min(len(line), start+longestMatch)
	before, after := "", ""
	if start > 0 {
		before = "…"
	}
	shown := line[start:end]
	if end < len(line) {
		shown, after = shown[:wholeCharacters(shown)], "…"
	}
	return strconv.Itoa(number) + ": " + before + string(valid(shown)) + after + "\n"
}
