package output

import (
	"os"
	"path/filepath"
)

// spool keeps the whole of one stream of one execution in a file, up to a
// limit. The file is made when the stream grows past after: small outputs
// never touch the disk.
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
	if err := os.MkdirAll(filepath.Dir(s.path), 0o700); err != nil {
		s.failure = err
		return start
	}
	s.file, s.failure = os.OpenFile(s.path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	return start
}

// materialize makes sure that what was printed so far is in the file.
func (s *spool) materialize() {
	if s.file == nil && s.failure == nil {
		s.append(s.open())
	}
}

// close ends the writing. What never needed a file stays in memory.
func (s *spool) close() {
	if s.file != nil {
		_ = s.file.Close() // every write was checked; nothing is buffered
	}
}
