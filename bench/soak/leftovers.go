package main

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"time"
)

// numbers of things by kind, such as open descriptors and goroutines.
type numbers map[string]int

// beyond returns an error if there is more of something than in an idle server.
func (n numbers) beyond(idle numbers) error {
	var more []string
	for _, kind := range sortedKeys(n) {
		if over := n[kind] - idle[kind]; over > 0 {
			more = append(more, fmt.Sprintf("%d %s", over, kind))
		}
	}
	if len(more) > 0 {
		return fmt.Errorf("the server without sessions has what an idle one doesn't have: %s", strings.Join(more, ", "))
	}
	return nil
}

// serial are the numbers that tell two pipes or sockets apart.
var serial = regexp.MustCompile(`\[\d+\]`)

// mostOfJournal is how often a server has its journal open. SQLite closes a file only
// once no connection of the process holds a lock on it, so that one that was used for
// a moment may stay, to be used again.
const mostOfJournal = 4

func (s *server) descriptors() numbers {
	dir := fmt.Sprintf("/proc/%d/fd", s.pid())
	found := numbers{}
	for _, entry := range must(os.ReadDir(dir)) {
		if target, err := os.Readlink(filepath.Join(dir, entry.Name())); err == nil {
			found[serial.ReplaceAllString(target, "")]++
		}
	}
	maps.DeleteFunc(found, func(what string, n int) bool {
		return filepath.Base(what) == "journal.db" && n <= mostOfJournal
	})
	return found
}

// steadily waits until nothing has been lacking for a second. Who ends a session, or a
// connection, goes on for a moment when all that can be seen of it is gone, and is a
// goroutine until then.
func (l *life) steadily(lacking func() error) {
	looks := 0
	eventually(l.ctx, restTime, func() error {
		pause(l.ctx, 45*time.Millisecond)
		looks++
		if err := lacking(); err != nil {
			looks = 0
			return err
		}
		if looks < 20 {
			return errNotYet
		}
		return nil
	})
}

// steadyDescriptors waits until what the server has open stays the same: it closes what
// clients leave behind in its own time, and opens files for a moment of its own accord.
func (l *life) steadyDescriptors() (last numbers) {
	l.steadily(func() error {
		before := last
		if last = l.server.descriptors(); !maps.Equal(last, before) {
			return fmt.Errorf("what the server has open doesn't settle: %v, then %v", before, last)
		}
		return nil
	})
	return last
}

// inspect looks for what a server without sessions ought not to have, has it
// write its goroutines down, and returns them.
func (l *life) inspect() numbers {
	l.visit() // so that root and zygote are up
	l.steadily(func() error {
		if err := l.server.descriptors().beyond(l.idle); err != nil {
			return err
		}
		return noFiles(l.path("data", "run", "*", "sessions"), l.path("data", "run", "*", "work"))
	})
	found := readGoroutines(l.server.dump())
	if len(found) < 3 {
		failf("the goroutines of the server could not be read: %v", found)
	}
	return found
}

// lookForLeftovers ends the last server of the soak, compares it with a fresh
// one, and sees that a third, which ends orderly, leaves no file.
func (l *life) lookForLeftovers() {
	used, idle := l.inspect(), l.begin().inspect()
	if err := used.beyond(idle); err != nil {
		failf("%w (%s)", err, l.server.log)
	}
	l.begin().leave()
	fail(noFiles(l.path("data", "run"), l.path("tmp")))
}

// noFiles returns an error if there is anything in a directory that matches.
func noFiles(patterns ...string) error {
	for _, pattern := range patterns {
		if left, _ := filepath.Glob(pattern + "/*"); len(left) > 0 { // fails on bad patterns only
			return fmt.Errorf("files are left: %v", left)
		}
	}
	return nil
}

// begunWith is the outermost function of a goroutine's stack that tells something of it,
// as the Go runtime writes stacks at SIGQUIT.
var begunWith = regexp.MustCompile(`(?m)^(\S.*)\(.*\)\n\t.*\n(?:(?:runtime\.goexit|sync\.\(\*WaitGroup\)\.Go\.func1)\(.*\)\n\t.*\n)*created by `)

// readGoroutines counts goroutines by what they began with.
func readGoroutines(dump string) numbers {
	found := numbers{}
	for _, began := range begunWith.FindAllStringSubmatch(dump, -1) {
		if !strings.HasPrefix(began[1], "runtime.") { // its own come with use and stay
			found[began[1]]++
		}
	}
	return found
}
