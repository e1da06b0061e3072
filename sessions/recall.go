package sessions

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"syscall"
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

// inventory tells of what there is to be recalled.
func (t *transcript) inventory() (i inventory) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for stream := range t.spools {
		s := &t.spools[stream]
		i.printed[stream] = s.size + int64(len(s.start))
		i.long[stream] = s.file != nil
	}
	i.figures, i.artifacts = slices.Clone(t.shown), slices.Clone(t.keeps)
	return i
}

// inventory is what there is to be recalled of an execution; see Brief.
type inventory struct {
	printed   [2]int64
	long      [2]bool
	figures   []Figure
	artifacts []Artifact
}

// held returns how many bytes of memory and of disk the transcript holds for good.
func (t *transcript) held() (memory int, spooled int64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for stream := range t.spools {
		memory += len(t.spools[stream].start)
		spooled += t.spools[stream].size
	}
	return memory + t.said, spooled
}

// open returns the whole of a stream as far as it has been printed.
func (t *transcript) open(stream Stream) (document, source, error) {
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
func (t *transcript) kept(stream Stream) (document, source) {
	t.mu.Lock()
	defer t.mu.Unlock()
	s := &t.spools[stream]
	d := document{lines: &t.lines[stream]}
	if s.file != nil {
		d.size = s.size
		return d, source{path: s.path, lost: s.lost}
	}
	text := bytes.Clone(s.start)
	d.text, d.size = bytes.NewReader(text), int64(len(text))
	return d, source{lost: s.lost}
}

// errChanged says that the file of a stream is not what was written.
var errChanged = errors.New("it was changed from outside")

// openSpool opens the file of a stream. Answers name it, so code may have put
// something else in its place, which is not opened.
func openSpool(path string) (*os.File, error) {
	there, err := os.Lstat(path)
	if err != nil {
		return nil, err
	}
	if !there.Mode().IsRegular() {
		return nil, errChanged
	}
	// Not to block: it may have become a pipe since.
	file, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	if opened, err := file.Stat(); err != nil || !os.SameFile(there, opened) {
		_ = file.Close() // it was not even read
		return nil, errChanged
	}
	return file, nil
}

// unrecalled says why what e printed can't be read.
func (s *Session) unrecalled(e *execution, err error) error {
	gone := errors.Is(err, fs.ErrNotExist)
	switch {
	case gone && s.history.find(e.number) == nil:
		return s.forgotten(e.number)
	case gone, errors.Is(err, errChanged), errors.Is(err, io.ErrUnexpectedEOF):
		return Errorf(CodeNotFound, "the output of execution %d was changed from outside and can't be read any more", e.number)
	case CodeOf(err) != "":
		return err
	default:
		return fmt.Errorf("reading the output of execution %d: %w", e.number, err)
	}
}

// ends returns the beginning and the end of a stream, with a marker between that
// counts the bytes that are missing.
func (t *transcript) ends(stream Stream) (text string, missing int64, err error) {
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
	if err := readFull(d.text, head, 0); err != nil {
		return "", 0, err
	}
	if err := readFull(d.text, tail, d.size-endBytes); err != nil {
		return "", 0, err
	}
	head, tail = head[:wholeCharacters(head)], tail[runeStart(tail, 0):]
	missing = d.size - int64(len(head)+len(tail)) + source.lost
	return decodeAll(head) + Marker(missing) + decodeAll(tail), missing, nil
}
