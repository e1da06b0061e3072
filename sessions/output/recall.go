package output

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"slices"
	"syscall"

	"understudy/internal/screen"
)

// endBytes is how much of a stream's beginning, and of its end, a record holds.
const endBytes = 4_000

// source is where the whole of a stream is.
type source struct {
	path string   // of its file, or ""
	file *os.File // nil when it is in memory
	lost int64    // bytes that were not kept
}

func (s source) close() {
	if s.file != nil {
		_ = s.file.Close() // it was only read
	}
}

// Inventory tells of what there is to be recalled.
func (t *Transcript) Inventory() (i Inventory) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for stream := range t.spools {
		s := &t.spools[stream]
		i.Printed[stream] = s.size + int64(len(s.start))
		i.Long[stream] = s.file != nil
	}
	i.Figures, i.Artifacts = slices.Clone(t.shown), slices.Clone(t.keeps)
	return i
}

// Inventory is what there is to be recalled of an execution.
type Inventory struct {
	// Printed is how many bytes of each stream there are to be read, by Stream, and Long
	// whether they are too many for an answer.
	Printed [2]int64
	Long    [2]bool
	// Figures are without their previews, Artifacts without their images.
	Figures   []Figure
	Artifacts []Artifact
}

// Held returns how many bytes of memory and of disk the transcript holds for good.
func (t *Transcript) Held() (memory int, spooled int64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for stream := range t.spools {
		memory += len(t.spools[stream].start)
		spooled += t.spools[stream].size
	}
	return memory + t.said, spooled
}

// open returns the whole of a stream as far as it has been printed.
func (t *Transcript) open(stream Stream) (document, source, error) {
	d, kept := t.kept(stream)
	if kept.path == "" {
		return d, kept, nil
	}
	var err error
	kept.file, err = openSpool(kept.path) // without the lock: the output goes on
	d.text = kept.file
	return d, kept, err
}

// kept returns the stream as far as it is in memory, or the path of its file.
func (t *Transcript) kept(stream Stream) (document, source) {
	t.mu.Lock()
	defer t.mu.Unlock()
	s := &t.spools[stream]
	d := document{lines: &s.lines}
	if s.file != nil {
		d.size = s.size
		return d, source{path: s.path, lost: s.lost}
	}
	text := bytes.Clone(s.start)
	d.text, d.size = bytes.NewReader(text), int64(len(text))
	return d, source{lost: s.lost}
}

// ErrChanged says that the file of a stream is not what was written.
var ErrChanged = errors.New("it was changed from outside")

// openSpool opens the file of a stream. Answers name it, so code may have put
// something else in its place, which is not opened.
func openSpool(path string) (*os.File, error) {
	there, err := os.Lstat(path)
	if err != nil {
		return nil, err
	}
	if !there.Mode().IsRegular() {
		return nil, ErrChanged
	}
	// Not to block: it may have become a pipe since.
	file, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	if opened, err := file.Stat(); err != nil || !os.SameFile(there, opened) {
		_ = file.Close() // it was not even read
		return nil, ErrChanged
	}
	return file, nil
}

// Read returns the lines of a stream that r asks for, as far as it has been printed. Its
// errors are a *RangeError, ErrChanged, and fs.ErrNotExist where its file is gone.
func (t *Transcript) Read(ctx context.Context, stream Stream, r Range) (*Page, error) {
	d, source, err := t.open(stream)
	if err != nil {
		return nil, err
	}
	defer source.close()
	page, err := d.read(ctx, r)
	if err != nil {
		return nil, changed(err)
	}
	page.Path, page.Lost = source.path, source.lost
	return page, nil
}

// changed tells of a file that ends too early that it was changed.
func changed(err error) error {
	if errors.Is(err, io.ErrUnexpectedEOF) {
		return ErrChanged
	}
	return err
}

// Ends returns the beginning and the end of a stream, with a Marker between that counts
// the bytes that are missing. Its errors are ErrChanged and fs.ErrNotExist, as those of Read.
func (t *Transcript) Ends(stream Stream) (text string, missing int64, err error) {
	d, source, err := t.open(stream)
	if err != nil {
		return "", 0, err
	}
	defer source.close()
	if d.size <= 2*endBytes {
		whole, err := io.ReadAll(io.NewSectionReader(d.text, 0, d.size))
		return decodeAll(whole), source.lost, err
	}
	head, tail := make([]byte, endBytes), make([]byte, endBytes)
	if err := errors.Join(readFull(d.text, head, 0), readFull(d.text, tail, d.size-endBytes)); err != nil {
		return "", 0, changed(err)
	}
	head, tail = head[:wholeCharacters(head)], tail[runeStart(tail, 0):]
	missing = d.size - int64(len(head)+len(tail)) + source.lost
	return decodeAll(head) + Marker(missing) + decodeAll(tail), missing, nil
}

// SoFar returns what was printed, of both streams in order: all of it if it fits into
// room, else its last whole lines behind a Marker.
func (t *Transcript) SoFar(room int) string {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.all == nil { // without a record nobody needs more
		return screen.Unmarked(t.fresh.term.end(room))
	}
	marker, text := t.all.term.ending(room)
	return marker + screen.Unmarked(text)
}
