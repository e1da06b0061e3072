package preview

import (
	"context"
	"fmt"
	"time"
)

// Options bound a preview. What is left zero takes the default named with it.
type Options struct {
	// Name is what the directory is called in the text; "input".
	Name string
	// Roots are files and directories elsewhere that links in the directory may
	// lead to. Other links that lead out are named and not followed: code that may
	// write in the directory must not have files read for it.
	Roots []string
	// Characters is how long the text may be; 6,000.
	Characters int
	// FileBytes is how much is read of a file at most; 8 MiB. Larger files are
	// sampled.
	FileBytes int64
	// TotalBytes is how much is read in all; 64 MiB.
	TotalBytes int64
	// Time is how long it may take; 5 seconds. What it was too short for is listed
	// and not described.
	Time time.Duration
}

func (o Options) withDefaults() Options {
	o.Name = orDefault(o.Name, "input")
	o.Characters = orDefault(o.Characters, 6000)
	o.FileBytes = orDefault(o.FileBytes, 8<<20)
	o.TotalBytes = orDefault(o.TotalBytes, 64<<20)
	o.Time = orDefault(o.Time, 5*time.Second)
	return o
}

func orDefault[T comparable](value, otherwise T) T {
	var zero T
	if value == zero {
		return otherwise
	}
	return value
}

// Describe returns a text in Markdown on what is in the directory. The same files
// give the same text, as long as the time is enough for them. It fails only if the
// directory itself can't be read or ctx ends; what is wrong with a file stands at
// its line.
func Describe(ctx context.Context, dir string, o Options) (string, error) {
	text, _, err := describe(ctx, dir, o)
	return text, err
}

// effort is what a description took.
type effort struct {
	read   int64 // bytes of files
	hasted bool  // the time was not enough for everything
}

func describe(ctx context.Context, dir string, o Options) (string, effort, error) {
	o = o.withDefaults()
	place, err := openPlace(dir, o.Roots)
	if err != nil {
		return "", effort{}, fmt.Errorf("looking at %s: %w", o.Name, err)
	}
	defer place.close()
	limited, cancel := context.WithTimeout(ctx, o.Time)
	defer cancel()
	top, err := walk(limited, place)
	if err != nil {
		return "", effort{}, fmt.Errorf("looking at %s: %w", o.Name, err)
	}
	b := &budget{ctx: limited, left: o.TotalBytes, each: o.FileBytes}
	sections := look(b, place, top)
	if err := ctx.Err(); err != nil {
		return "", effort{}, err
	}
	return compose(top, sections, o), effort{b.read, limited.Err() != nil}, nil
}
