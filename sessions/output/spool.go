package output

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"syscall"
)

// ErrChanged says that the file of a stream is not what was written.
var ErrChanged = errors.New("it was changed from outside")

// endBytes is how much Ends tells of a stream's beginning, and of its end.
const endBytes = 4_000

// spool keeps the whole of one stream of one execution, up to a limit: in a file from when
// the stream grows past after, so that small outputs never touch the disk.
type spool struct {
	path  string
	after int   // bytes
	limit int64 // bytes; what comes after is not kept

	lines   lineIndex
	start   []byte // what came before there was a file
	file    *os.File
	size    int64
	lost    int64 // bytes that are not in the file
	failure error
}

// write appends p. It never fails a call: a full disk is remembered and said.
func (s *spool) write(p []byte) {
	if s.file == nil && s.failure == nil {
		s.start = append(s.start, p...)
		if len(s.start) <= s.after {
			return
		}
		p = s.open()
	}
	s.append(p)
}

// append writes to the file what still fits and works.
func (s *spool) append(p []byte) {
	kept := 0
	if keep := min(s.limit-s.size, int64(len(p))); keep > 0 && s.failure == nil {
		kept, s.failure = s.file.Write(p[:keep])
	}
	s.size += int64(kept)
	s.lost += int64(len(p) - kept)
}

// open creates the file and returns what has to be written to it first. What the
// code may have put there is not opened: to open a pipe would wait for ever.
func (s *spool) open() []byte {
	start := s.start
	s.start = nil
	if s.failure = os.MkdirAll(filepath.Dir(s.path), 0o700); s.failure == nil {
		s.file, s.failure = os.OpenFile(s.path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	}
	return start
}

// materialize makes sure that what was printed so far is in the file.
func (s *spool) materialize() {
	if s.file == nil && s.failure == nil {
		s.append(s.open())
	}
}

// locate names the place of the whole text in x, and says what is not there.
func (s *spool) locate(x *Excerpt) {
	s.materialize()
	if s.failure != nil {
		x.Notes = append(x.Notes, fmt.Sprintf("the whole output could not be kept: %v", s.failure))
		return
	}
	if x.Path == "" {
		x.Path = s.path
	}
	if s.lost > 0 {
		x.Notes = append(x.Notes, fmt.Sprintf("%s holds the first %d bytes; %d more were not kept", s.path, s.size, s.lost))
	}
}

// close ends the writing. What never needed a file stays in memory.
func (s *spool) close() {
	if s.file != nil {
		_ = s.file.Close() // every write was checked; nothing is buffered
	}
}

// spooled is a stream as far as it had been printed, for a reader.
type spooled struct {
	document
	file *os.File // nil when it is in memory
	path string   // of its file, or ""
	lost int64    // bytes that were not kept
}

// printed returns the stream as far as it has been printed. Of one with a file the text is
// still to be opened.
func (s *spool) printed() spooled {
	d := spooled{document: document{size: s.size, lines: &s.lines}, lost: s.lost}
	if s.file != nil {
		d.path = s.path
		return d
	}
	d.text, d.size = bytes.NewReader(bytes.Clone(s.start)), int64(len(s.start))
	return d
}

// open returns the whole of a stream as far as it has been printed.
func (t *Transcript) open(stream Stream) (d spooled, err error) {
	t.mu.Lock()
	d = t.spools[stream].printed()
	t.mu.Unlock()
	if d.path != "" {
		d.file, err = openRegular(d.path) // without the lock: the output goes on
		d.text = d.file
	}
	return d, err
}

func (s spooled) close() {
	if s.file != nil {
		_ = s.file.Close() // it was only read
	}
}

// openRegular opens the file of a stream. Answers name it, so code may have put
// something else in its place, which is not opened.
func openRegular(path string) (*os.File, error) {
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
	d, err := t.open(stream)
	if err != nil {
		return nil, err
	}
	defer d.close()
	page, err := d.read(ctx, r)
	if err != nil {
		return nil, changed(err)
	}
	page.Path, page.Lost = d.path, d.lost
	return page, nil
}

// Ends returns the beginning and the end of a stream, with a Marker between that counts
// the bytes that are missing. Its errors are ErrChanged and fs.ErrNotExist, as those of Read.
func (t *Transcript) Ends(stream Stream) (text string, missing int64, err error) {
	d, err := t.open(stream)
	if err != nil {
		return "", 0, err
	}
	defer d.close()
	if d.size <= 2*endBytes {
		whole, err := io.ReadAll(io.NewSectionReader(d.text, 0, d.size))
		return string(valid(whole)), d.lost, err
	}
	head, tail := make([]byte, endBytes), make([]byte, endBytes)
	if err := errors.Join(readFull(d.text, head, 0), readFull(d.text, tail, d.size-endBytes)); err != nil {
		return "", 0, changed(err)
	}
	head, tail = head[:wholeCharacters(head)], tail[runeStart(tail, 0):]
	missing = d.size - int64(len(head)+len(tail)) + d.lost
	return string(valid(head)) + Marker(missing) + string(valid(tail)), missing, nil
}

// changed tells of a file that ends too early that it was changed.
func changed(err error) error {
	if errors.Is(err, io.ErrUnexpectedEOF) {
		return ErrChanged
	}
	return err
}
