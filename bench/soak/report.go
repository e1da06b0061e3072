package main

import (
	"fmt"
	"slices"
	"strings"
	"sync"
)

// counts are what a soak has done so far.
type counts struct {
	mu      sync.Mutex
	numbers map[string]int
}

func (c *counts) add(name string, n int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.numbers == nil {
		c.numbers = map[string]int{}
	}
	c.numbers[name] += n
}

// line is what is printed on the way, table at the end.
func (c *counts) line() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	var all []string
	for _, name := range []string{"calls", "deaths", "restored", "branches", "undos", "calls given up", "came back in a call"} {
		if n := c.numbers[name]; n > 0 {
			all = append(all, fmt.Sprintf("%d %s", n, name))
		}
	}
	return strings.Join(all, ", ")
}

func (c *counts) table() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	var b strings.Builder
	for _, name := range sortedKeys(c.numbers) {
		fmt.Fprintf(&b, "%-40s %8d\n", name, c.numbers[name])
	}
	return b.String()
}

// trail is a session's last calls and answers, as they came.
type trail struct {
	mu    sync.Mutex
	lines []string
}

func (t *trail) add(arrow string, what ...string) {
	const most = 48
	for i := range what {
		what[i] = shorten(strings.ReplaceAll(what[i], "\n", "\n    "))
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.lines = append(t.lines, arrow+" "+strings.Join(what, "\n    "))
	t.lines = slices.Clone(t.lines[max(0, len(t.lines)-most):])
}

// follow begins the trail of a branch with that of the session it came from.
func (t *trail) follow(original *trail) {
	original.mu.Lock()
	defer original.mu.Unlock()
	t.lines = slices.Clone(original.lines)
}

func (t *trail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return strings.Join(t.lines, "\n")
}
