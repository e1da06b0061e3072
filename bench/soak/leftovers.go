package main

import (
	"context"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"time"
)

// descriptors counts what a process has open, by kind.
type descriptors map[string]int

// serial are the numbers that tell two pipes or sockets apart.
var serial = regexp.MustCompile(`\[\d+\]`)

func (s *server) descriptors() (descriptors, error) {
	dir := fmt.Sprintf("/proc/%d/fd", s.pid())
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	found := descriptors{}
	for _, entry := range entries {
		if target, err := os.Readlink(filepath.Join(dir, entry.Name())); err == nil {
			found[serial.ReplaceAllString(target, "")]++
		}
	}
	found.settleJournal()
	return found, nil
}

// mostOfJournal is how often a server has its journal open. SQLite closes a file only
// once no connection of the process holds a lock on it, so that one that was used for
// a moment may stay, to be used again.
const mostOfJournal = 4

// settleJournal leaves the journal out unless it is open more often than that.
func (d descriptors) settleJournal() {
	for what, n := range d {
		if filepath.Base(what) == "journal.db" && n <= mostOfJournal {
			delete(d, what)
		}
	}
}

// inspect looks for what a server without sessions ought not to have, has it
// write its goroutines down, and returns them.
func (l *life) inspect(ctx context.Context) (goroutines, error) {
	if err := l.settleDown(ctx); err != nil { // so that root and zygote are up
		return nil, err
	}
	if err := l.awaitSessionsGone(ctx); err != nil {
		return nil, err
	}
	if err := l.inspectDescriptors(ctx); err != nil {
		return nil, err
	}
	l.over.Store(true)
	dump, err := l.server.dump()
	if err != nil {
		return nil, err
	}
	return readGoroutines(dump), l.server.gone()
}

// steadyLooks is how often in a row a server must look alike, with 50 ms between, to
// be at rest. Who ends a session, or a connection, goes on for a moment when all that
// can be seen of it is gone, and is a goroutine until then.
const steadyLooks = 20

// inspectDescriptors waits until the server has open for a while what it had when it
// was warm and had no session.
func (l *life) inspectDescriptors(ctx context.Context) error {
	deadline, same := time.Now().Add(endTime), 0
	for {
		now, err := l.server.descriptors()
		if same++; !maps.Equal(now, l.idle) {
			same = 0
		}
		if err != nil || same == steadyLooks {
			return err
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("without sessions the server has %v open; it had %v", now, l.idle)
		}
		if err := pause(ctx, 50*time.Millisecond); err != nil {
			return err
		}
	}
}

// awaitSessionsGone waits until no session has a file. They are removed last, by
// those who end a session: that may have been a client who left and waits for nothing.
func (l *life) awaitSessionsGone(ctx context.Context) error {
	deadline := time.Now().Add(endTime)
	for {
		err := noFiles(filepath.Join(l.place.data, "run", "*", "sessions"), filepath.Join(l.place.data, "run", "*", "work"))
		if err == nil || time.Now().After(deadline) {
			return err
		}
		if err := pause(ctx, 50*time.Millisecond); err != nil {
			return err
		}
	}
}

// noFiles returns an error if there is anything in a directory that matches.
func noFiles(patterns ...string) error {
	for _, pattern := range patterns {
		dirs, err := filepath.Glob(pattern)
		if err != nil {
			return err
		}
		for _, dir := range dirs {
			if left := filesIn(dir); len(left) > 0 {
				return fmt.Errorf("files are left: %v", left)
			}
		}
	}
	return nil
}

func filesIn(dir string) []string {
	var found []string
	_ = filepath.WalkDir(dir, func(path string, _ fs.DirEntry, err error) error {
		if err == nil && path != dir {
			found = append(found, path)
		}
		return nil // what went meanwhile is not left
	})
	return found
}

// goroutines counts them by the function that each began with.
type goroutines map[string]int

var (
	// Goroutine 0 is the runtime's own, on which it handles the signal.
	goroutineHead = regexp.MustCompile(`(?m)^goroutine [1-9]\d* .*\[.*\]:$`)
	goroutineCall = regexp.MustCompile(`(?m)^([^\s(].*)\(.*\)$`)
	goroutineMade = regexp.MustCompile(`(?m)^created by `)
)

// readGoroutines reads what the Go runtime writes at SIGQUIT.
func readGoroutines(dump string) goroutines {
	found := goroutines{}
	heads := goroutineHead.FindAllStringIndex(dump, -1)
	for i, head := range heads {
		end := len(dump)
		if i+1 < len(heads) {
			end = heads[i+1][0]
		}
		began := beginning(dump[head[1]:end])
		if !strings.HasPrefix(began, "runtime.") { // its own come with use and stay
			found[began]++
		}
	}
	return found
}

// beginning returns the outermost function of a goroutine's stack that tells
// something of it.
func beginning(stack string) string {
	if made := goroutineMade.FindStringIndex(stack); made != nil {
		stack = stack[:made[0]]
	}
	began := "runtime.?"
	for _, call := range goroutineCall.FindAllStringSubmatch(stack, -1) {
		switch call[1] {
		case "runtime.goexit", "runtime.main", "sync.(*WaitGroup).Go.func1":
		default:
			began = call[1]
		}
	}
	return began
}

// beyond names the goroutines that are more than in an idle server.
func (g goroutines) beyond(idle goroutines) error {
	var more []string
	for _, began := range sortedKeys(g) {
		if over := g[began] - idle[began]; over > 0 {
			more = append(more, fmt.Sprintf("%d in %s", over, began))
		}
	}
	if len(more) > 0 {
		return fmt.Errorf("goroutines that an idle server doesn't have: %s", strings.Join(more, ", "))
	}
	return nil
}

// lookForLeftovers ends the last server of the soak, compares it with a fresh
// one, and sees that a third, which ends orderly, leaves no file.
func (l *life) lookForLeftovers(ctx context.Context) error {
	used, err := l.inspect(ctx)
	if err != nil {
		return l.explained(err)
	}
	fresh, err := l.soak.begin(ctx)
	if err != nil {
		return err
	}
	idle, err := fresh.inspect(ctx)
	if err != nil {
		return fresh.explained(err)
	}
	if len(used) < 3 || len(idle) < 3 {
		return fmt.Errorf("the goroutines of the servers could not be read: %v, %v", used, idle)
	}
	if err := used.beyond(idle); err != nil {
		return l.explained(err)
	}
	last, err := l.soak.begin(ctx)
	if err != nil {
		return err
	}
	if err := leave(last); err != nil {
		return last.explained(err)
	}
	return noFiles(filepath.Join(l.place.data, "run"), l.place.temp)
}
