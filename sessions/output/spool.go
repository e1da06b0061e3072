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

	start   []byte // what came before there was a file
	file    *os.File
	size    int64 // bytes of it all, but for lost
	lost    int64 // bytes that are not in the file
	failure error
}

// write appends p. It never fails a call: a full disk is remembered and said.
func (s *spool) write(p []byte) {
	if s.file == nil && s.failure == nil {
		s.start = append(s.start, p...)
		s.size = int64(len(s.start))
		if len(s.start) <= s.after {
			return
		}
		p, s.start, s.size = s.start, nil, 0
		s.create()
	}
	kept := 0
	if keep := min(s.limit-s.size, int64(len(p))); keep > 0 && s.failure == nil {
		kept, s.failure = s.file.Write(p[:keep])
	}
	s.size += int64(kept)
	s.lost += int64(len(p) - kept)
}

// create makes the file. What the code may have put there is not opened: to open a pipe
// would wait for ever.
func (s *spool) create() {
	if s.failure = os.MkdirAll(filepath.Dir(s.path), 0o700); s.failure == nil {
		s.file, s.failure = os.OpenFile(s.path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	}
}

// locate names the file of the whole text in x, if there is one, and says what is not in it.
func (s *spool) locate(x *Excerpt) {
	switch {
	case s.failure != nil:
		x.Notes = append(x.Notes, fmt.Sprintf("the whole output could not be kept: %v", s.failure))
		return
	case s.file == nil:
		return
	case s.lost > 0:
		x.Notes = append(x.Notes, fmt.Sprintf("%s holds the first %d bytes; %d more were not kept", s.path, s.size, s.lost))
	}
	if x.Path == "" {
		x.Path = s.path
	}
}

// printed is the stream as far as it has been printed.
func (s *spool) printed() Printed {
	p := Printed{Text: s.start, Size: s.size, Lost: s.lost}
	if s.file != nil {
		p.Path = s.path
	}
	return p
}

// open returns the text of a stream as far as it has been printed; close lets go of it.
func (t *Transcript) open(stream Stream) (p Printed, text io.ReaderAt, closeText func(), err error) {
	t.mu.Lock()
	p = t.spools[stream].printed()
	start := bytes.Clone(p.Text)
	t.mu.Unlock()
	if p.Path == "" {
		return p, bytes.NewReader(start), func() {}, nil
	}
	file, err := openRegular(p.Path) // without the lock: the output goes on
	if err != nil {
		return p, nil, nil, err
	}
	return p, file, func() { _ = file.Close() }, nil // it was only read
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
	p, text, closeText, err := t.open(stream)
	if err != nil {
		return nil, err
	}
	defer closeText()
	page, err := document{text, p.Size, &t.pages[stream]}.read(ctx, r)
	if err != nil {
		return nil, changed(err)
	}
	page.Path, page.Lost = p.Path, p.Lost
	return page, nil
}

// Ends returns the beginning and the end of a stream, with a Marker between that counts
// the bytes that are missing. Its errors are ErrChanged and fs.ErrNotExist, as those of Read.
func (t *Transcript) Ends(stream Stream) (text string, missing int64, err error) {
	p, whole, closeText, err := t.open(stream)
	if err != nil {
		return "", 0, err
	}
	defer closeText()
	d := document{text: whole, size: p.Size}
	if d.size <= 2*endBytes {
		all := make([]byte, d.size)
		err := d.readFull(all, 0)
		return string(valid(all)), p.Lost, changed(err)
	}
	head, tail := make([]byte, endBytes), make([]byte, endBytes)
	if err := errors.Join(d.readFull(head, 0), d.readFull(tail, d.size-endBytes)); err != nil {
		return "", 0, changed(err)
	}
	head, tail = head[:wholeCharacters(head)], tail[runeStart(tail, 0):]
	missing = d.size - int64(len(head)+len(tail)) + p.Lost
	return string(valid(head)) + Marker(missing) + string(valid(tail)), missing, nil
}

// changed tells of a file that ends too early that it was changed.
func changed(err error) error {
	if errors.Is(err, io.ErrUnexpectedEOF) {
		return ErrChanged
	}
	return err
}
