package workspace

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
)

// countdown is a context that ends when it has been asked a number of times.
type countdown struct {
	context.Context
	left int
}

func (c *countdown) Err() error {
	if c.left--; c.left < 0 {
		return context.Canceled
	}
	return nil
}

// TestCancelBetweenEntries ends where no bytes are read: in lists of directories and
// of links.
func TestCancelBetweenEntries(t *testing.T) {
	many := func(one func(name string) entry) (entries []entry) {
		for i := range 300 {
			entries = append(entries, one(fmt.Sprint("n", i)))
		}
		return entries
	}
	links := many(func(name string) entry { return symlink(name, "x") })
	for name, data := range map[string][]byte{
		"folders.zip": zipped(t, many(folder)...), "folders.tar": tarred(t, many(folder)...), "links.tar": tarred(t, links...),
	} {
		ctx := &countdown{t.Context(), 1 << 20}
		p := mustPlan(t, Options{}, files(t, map[string]string{name: string(data)}))
		_, err := p.Prepare(ctx)
		must(t, err)
		asked := 1<<20 - ctx.left
		expect(t, asked >= 300, "%s: it asked %d times whether to go on", name, asked)
	}
}

// TestCancel stops a preparation at every point at which it asks whether to go on.
func TestCancel(t *testing.T) {
	text := strings.Repeat("some data\n", 50_000)
	nested := string(zipped(t, file("d/y", text)))
	dir := files(t, map[string]string{
		"a/x": text, "b.zip": string(zipped(t, file("x", text), file("n.zip", nested))),
		"c/d.tar.gz": string(gzipped(t, tarred(t, file("x", text), symlink("l", "x")))), "e.csv": text,
	})
	for points := 0; ; points++ {
		p := mustPlan(t, Options{}, dir)
		_, err := p.Prepare(&countdown{t.Context(), points})
		if err == nil {
			expect(t, points >= 20, "it asked only %d times", points)
			return
		}
		insist(t, errors.Is(err, context.Canceled), "after %d questions: %v", points, err)
		if left := tree(t, p.Dir()); slices.ContainsFunc(left, func(line string) bool { return !slices.Contains(emptyWorkspace, line) }) {
			t.Fatalf("after %d questions: left behind: %v", points, left)
		}
	}
}
