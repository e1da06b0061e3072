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
	// Changed, if set, hears of each new value but the first, and when the file is good again.
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
	text    []byte    // that value was made of; nil after the file was missing
	looked  time.Time // when the file was last read
	trouble string    // why it could not be used, as it was last logged
}

// LookEvery is how long a change of the file may go unseen.
const LookEvery = time.Second

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
	_, err := f.renew()
	return f, err
}

// Get returns what the file says, or said before it was broken.
func (f *File[T]) Get() T {
	f.mu.Lock()
	defer f.mu.Unlock()
	now := f.options.Now()
	if now.Sub(f.looked) < LookEvery {
		return f.value
	}
	f.looked = now
	changed, err := f.renew()
	switch {
	case err == nil:
		if (changed || f.trouble != "") && f.options.Changed != nil {
			f.options.Changed(f.value)
		}
		f.trouble = ""
	case err.Error() != f.trouble:
		f.trouble = err.Error()
		f.options.Logger.Error(f.options.What+" can't be used; what it said before holds", "file", f.path, "error", err)
	}
	return f.value
}

// renew reads the file, and takes over what it says if that is another thing. It goes by
// the text: two changes may have one time and one size.
func (f *File[T]) renew() (changed bool, err error) {
	info, err := os.Stat(f.path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		f.text = nil // what comes in its place is parsed, were it the same
		return false, err
	case err != nil:
		return false, err
	case !info.Mode().IsRegular(): // a pipe above all, which would keep everybody waiting
		return false, fmt.Errorf("%s: it is not a regular file", f.path)
	case info.Size() > f.options.MaxBytes:
		return false, fmt.Errorf("%s: it has %d bytes; at most %d are read", f.path, info.Size(), f.options.MaxBytes)
	}
	text, err := os.ReadFile(f.path)
	if err != nil || f.text != nil && bytes.Equal(text, f.text) {
		return false, err
	}
	value, err := f.options.Parse(text)
	if err == nil {
		f.value, f.text = value, text
	}
	return err == nil, err
}
