package main

import (
	"fmt"
	"io"
	"strings"
	"sync"
	"time"
)

// counts are what a soak has done so far.
type counts struct {
	mu       sync.Mutex
	numbers  map[string]int
	recovery time.Duration // the longest
	ofWhat   string        // the death that it was of
}

func newCounts() *counts { return &counts{numbers: map[string]int{}} }

func (c *counts) add(name string, n int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.numbers[name] += n
}

func (c *counts) get(name string) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.numbers[name]
}

// slowest notes how long a call took that crashed at once and was answered with
// the state back.
func (c *counts) slowest(took time.Duration, name string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if took > c.recovery {
		c.recovery, c.ofWhat = took, name
	}
}

// line is what is printed once a minute.
func (c *counts) line() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	n := c.numbers
	return fmt.Sprintf("%d calls, %d deaths, %d restored, %d branches, %d undos, %d servers killed or left",
		n["calls"], n["deaths"], n["restored"], n["branches"], n["undos"], n["servers killed"]+n["servers left"])
}

// table is what is printed at the end.
func (c *counts) table() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	var b strings.Builder
	for _, name := range sortedKeys(c.numbers) {
		fmt.Fprintf(&b, "%-40s %8d\n", name, c.numbers[name])
	}
	fmt.Fprintf(&b, "%-40s %8s (%s)\n", "slowest answer to a crash, state back", c.recovery.Round(100*time.Microsecond), c.ofWhat)
	return b.String()
}

// lines prints one a minute until stop is closed.
func (c *counts) lines(out io.Writer, began time.Time, stop <-chan struct{}) {
	minute := time.NewTicker(time.Minute)
	defer minute.Stop()
	for {
		select {
		case <-minute.C:
			fmt.Fprintf(out, "%s: %s\n", time.Since(began).Round(time.Second), c.line())
		case <-stop:
			return
		}
	}
}
