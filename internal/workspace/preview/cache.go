package preview

import (
	"context"
	"fmt"
	"hash/maphash"
	"time"
)

// fresh is for how long a preview is given without a look at the files.
const fresh = 10 * time.Second

// Cache describes a directory and keeps the text as long as names, sizes and times
// of the files stay what they are.
type Cache struct {
	dir     string
	options Options
	now     func() time.Time
	turn    chan struct{} // holds one value: who has taken it works

	text   string
	print  string
	looked time.Time
}

// NewCache returns a cache for Describe(ctx, dir, o).
func NewCache(dir string, o Options) *Cache {
	c := &Cache{dir: dir, options: o.withDefaults(), now: time.Now, turn: make(chan struct{}, 1)}
	c.turn <- struct{}{}
	return c
}

// Text describes the directory as it was at most ten seconds ago.
func (c *Cache) Text(ctx context.Context) (string, error) {
	select {
	case <-c.turn:
	case <-ctx.Done():
		return "", ctx.Err()
	}
	defer func() { c.turn <- struct{}{} }()
	if c.text != "" && c.now().Sub(c.looked) < fresh {
		return c.text, nil
	}
	before, err := fingerprint(ctx, c.dir, c.options)
	if err != nil {
		return "", err
	}
	if c.text == "" || before != c.print {
		text, took, err := describe(ctx, c.dir, c.options)
		if err != nil {
			return "", err
		}
		c.text, c.print = text, before
		if took.hasted { // the next time may be better
			c.print = ""
		}
	}
	c.looked = c.now()
	return c.text, nil
}

// fingerprint is another one when a file of the tree is.
func fingerprint(ctx context.Context, dir string, o Options) (string, error) {
	p, err := openPlace(dir, o.Roots)
	if err != nil {
		return "", fmt.Errorf("looking at %s: %w", o.Name, err)
	}
	defer p.close()
	limited, cancel := context.WithTimeout(ctx, o.Time)
	defer cancel()
	top, err := walk(limited, p)
	if err != nil {
		return "", fmt.Errorf("looking at %s: %w", o.Name, err)
	}
	if err := ctx.Err(); err != nil {
		return "", err
	}
	var hash maphash.Hash
	hash.SetSeed(seed)
	top.print(&hash)
	return fmt.Sprint(hash.Sum64()), nil
}

func (f *folder) print(to *maphash.Hash) {
	fmt.Fprintf(to, "%q %q %t\n", f.path, f.note, f.unlisted)
	for _, e := range f.files {
		fmt.Fprintf(to, "%q %d %d %q\n", e.name, e.size, e.modified, e.note)
	}
	for _, below := range f.folders {
		below.print(to)
	}
}
