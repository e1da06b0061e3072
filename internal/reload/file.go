// Package reload keeps what a file says, and reads it again when the file has changed.
package reload

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

// Options say how a file is read. What and Parse are required.
type Options[T any] struct {
	// What names the file's content in the log, as "the policy".
	What string
	// Parse makes a value of the file's text.
	Parse func(text []byte) (T, error)
	// MaxBytes is how large the file may be; 4 MiB.
	MaxBytes int64
	// Changed, if set, hears of each new value but the first.
	Changed func(T)
	Logger  *slog.Logger
	Now     func() time.Time // time.Now, for tests another clock
}

// File is a file whose value can be asked for. Nothing runs in between: the file is
// looked at when somebody asks, once a second at most. One with a mistake in it, or none
// at all any more, leaves the value as it was, and is logged once.
type File[T any] struct {
	path    string
	options Options[T]

	mu      sync.Mutex
	value   T
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

const (
	// LookEvery is how long a change of the file may go unseen.
	LookEvery = time.Second
	// settling is the coarsest step of file times, on file systems of old.
	settling = 2 * time.Second
)

// Open reads the file for the first time. The error is that of the file or of Parse.
func Open[T any](path string, o Options[T]) (*File[T], error) {
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.MaxBytes == 0 {
		o.MaxBytes = 4 << 20
	}
	f := &File[T]{path: path, options: o, looked: o.Now()}
	return f, f.read()
}

// Get returns what the file says, or said before it was broken.
func (f *File[T]) Get() T {
	f.mu.Lock()
	defer f.mu.Unlock()
	if now := f.options.Now(); now.Sub(f.looked) >= LookEvery {
		f.looked = now
		f.look()
	}
	return f.value
}

// look reads the file again if it may have changed.
func (f *File[T]) look() {
	before, had := f.text, f.trouble
	info, err := os.Stat(f.path)
	switch {
	case err != nil:
		f.stamp = stamp{} // the same file may come back
	case f.stamp.settled && f.stamp.size == info.Size() && f.stamp.modified.Equal(info.ModTime()):
		return
	default:
		err = f.read()
	}
	switch {
	case err == nil:
		f.trouble = ""
		if f.options.Changed != nil && (had != "" || !bytes.Equal(before, f.text)) {
			f.options.Changed(f.value)
		}
	case err.Error() != had:
		f.trouble = err.Error()
		f.options.Logger.Error(f.options.What+" can't be used; what it said before holds", "file", f.path, "error", err)
	}
}

// read takes over what the file says.
func (f *File[T]) read() error {
	info, err := os.Stat(f.path)
	if err != nil {
		return err
	}
	if err := f.fit(info); err != nil {
		return fmt.Errorf("%s: %w", f.path, err)
	}
	text, err := os.ReadFile(f.path)
	if err != nil {
		return err
	}
	f.text = text
	f.stamp = stamp{info.ModTime(), info.Size(), f.options.Now().Sub(info.ModTime()) > settling}
	value, err := f.options.Parse(text)
	if err == nil {
		f.value = value
	}
	return err
}

// fit refuses what can't be read at once, a pipe above all, which would keep everybody
// waiting.
func (f *File[T]) fit(info fs.FileInfo) error {
	switch {
	case !info.Mode().IsRegular():
		return errors.New("it is not a regular file")
	case info.Size() > f.options.MaxBytes:
		return fmt.Errorf("it has %d bytes; at most %d are read", info.Size(), f.options.MaxBytes)
	}
	return nil
}
