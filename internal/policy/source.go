package policy

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"sync"
	"time"
)

// Source has the book that holds now. A file is read again when it has changed; one
// with a mistake in it, or none at all any more, leaves the rules as they were.
type Source struct {
	path string // "" for rules that don't change
	more Additions
	log  *slog.Logger
	now  func() time.Time

	mu      sync.Mutex
	book    *Book
	looked  time.Time // when the file was last looked at
	stamp   stamp
	text    []byte // as it was last read, good or not
	trouble string // why it could not be used, as it was last logged
}

// stamp tells a changed file from an unchanged one.
type stamp struct {
	modified time.Time
	size     int64
	// settled is false when the file was changed just before it was read: it may
	// be changed again without its time moving on.
	settled bool
}

// lookEvery is how long a change of the file may go unseen.
const lookEvery = time.Second

// settling is the coarsest step of file times, on file systems of old.
const settling = 2 * time.Second

// largestFile is how many bytes of rules are read.
const largestFile = 4 << 20

// Open reads the rules at place: DefaultsName, or a file, or "" for those of more
// alone.
func Open(place string, more Additions, log *slog.Logger) (*Source, error) {
	return open(place, more, log, time.Now)
}

func open(place string, more Additions, log *slog.Logger, now func() time.Time) (_ *Source, err error) {
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	s := &Source{more: more, log: log, now: now}
	switch place {
	case "":
		s.book, err = Parse("command line", nil, more)
	case DefaultsName:
		s.book, err = DefaultBook(more)
	default:
		s.path, s.looked = place, now()
		err = s.read()
	}
	return s, err
}

// Book returns the rules, read again if the file has changed.
func (s *Source) Book() *Book {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.now()
	if s.path == "" || now.Sub(s.looked) < lookEvery {
		return s.book
	}
	s.looked = now
	switch changed, err := s.reread(); {
	case err != nil && err.Error() != s.trouble:
		s.trouble = err.Error()
		s.log.Error("the policy can't be used; the rules stay as they were", "error", err)
	case err == nil && (changed || s.trouble != ""):
		s.trouble = ""
		s.log.Info("policy read again", "file", s.path, "principals", s.book.Principals())
	}
	return s.book
}

// reread reads the file if it may have changed.
func (s *Source) reread() (changed bool, err error) {
	info, err := os.Stat(s.path)
	if err != nil {
		s.stamp = stamp{} // the same file may come back
		return false, fmt.Errorf("policy: %w", err)
	}
	if s.stamp.settled && s.stamp.size == info.Size() && s.stamp.modified.Equal(info.ModTime()) {
		if s.trouble != "" {
			return false, errors.New(s.trouble)
		}
		return false, nil
	}
	before := s.text
	err = s.read()
	return !bytes.Equal(before, s.text), err
}

// read takes over what the file says.
func (s *Source) read() error {
	info, err := os.Stat(s.path)
	if err != nil {
		return fmt.Errorf("policy: %w", err)
	}
	if err := fit(info); err != nil {
		return fmt.Errorf("policy %s: %w", s.path, err)
	}
	text, err := os.ReadFile(s.path)
	if err != nil {
		return fmt.Errorf("policy: %w", err)
	}
	s.text = text
	s.stamp = stamp{info.ModTime(), info.Size(), s.now().Sub(info.ModTime()) > settling}
	book, err := Parse(s.path, text, s.more)
	if err != nil {
		return fmt.Errorf("policy %w", err)
	}
	s.book = book
	return nil
}

// fit refuses what can't be rules, a pipe above all, which would keep everybody
// waiting.
func fit(info fs.FileInfo) error {
	switch {
	case !info.Mode().IsRegular():
		return errors.New("it is not a regular file")
	case info.Size() > largestFile:
		return fmt.Errorf("it has %d bytes; at most %d are read", info.Size(), int64(largestFile))
	}
	return nil
}
