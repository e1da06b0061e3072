package preview

import (
	"context"
	"errors"
	"io"
	"io/fs"
)

// budget is what may still be read, of all files together.
type budget struct {
	ctx  context.Context
	left int64 // bytes
	each int64 // bytes of one file
	read int64 // bytes, so far
}

var (
	errSpent = errors.New("not looked into: enough was read of the others")
	errTime  = errors.New("not looked into: there was no time left")
)

// leastOfFile is how many bytes must be left for a file to be looked into.
const leastOfFile = 64 << 10

// check says why nothing more may be read.
func (b *budget) check() error {
	if b.ctx.Err() != nil {
		return errTime
	}
	if b.left < leastOfFile {
		return errSpent
	}
	return nil
}

// file is what is needed of an *os.File.
type file interface {
	io.ReaderAt
	Stat() (fs.FileInfo, error)
}

// source is a file that is read within the budget.
type source struct {
	*budget
	file file
	info fs.FileInfo
	left int64 // bytes of this file
}

func (b *budget) source(f file, info fs.FileInfo) *source {
	return &source{budget: b, file: f, info: info, left: b.each}
}

func (s *source) size() int64 { return s.info.Size() }

// ReadAt reads and counts. At the end of the budget it fails instead of reading
// less.
func (s *source) ReadAt(p []byte, offset int64) (int, error) {
	if s.ctx.Err() != nil {
		return 0, errTime
	}
	if int64(len(p)) > s.left || int64(len(p)) > s.budget.left {
		return 0, errSpent
	}
	n, err := s.file.ReadAt(p, offset)
	s.left -= int64(n)
	s.budget.left -= int64(n)
	s.read += int64(n)
	return n, err
}

// block reads up to n bytes at an offset, fewer at the end of the file.
func (s *source) block(offset, n int64) ([]byte, error) {
	n = max(0, min(n, s.size()-offset))
	buffer := make([]byte, n)
	got, err := s.ReadAt(buffer, offset)
	if errors.Is(err, io.EOF) { // it has become shorter, or this is its end
		err = nil
	}
	return buffer[:got], err
}

// changed reports whether the file is another one since it was opened.
func (s *source) changed() bool {
	now, err := s.file.Stat()
	return err != nil || now.Size() != s.info.Size() || !now.ModTime().Equal(s.info.ModTime())
}
