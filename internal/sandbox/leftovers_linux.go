package sandbox

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"strconv"
	"time"

	"golang.org/x/sys/unix"
)

// endPatience is how long ending a user's processes may take: what waits in the kernel
// can't be ended.
const endPatience = 5 * time.Second

// endProcesses kills all processes of a user that descend from this one, again and again
// until there is none. Code can't change whom its processes belong to, whatever else it
// does to leave no trace; orphans are the server's. Those of a service that happens to
// have the same user are left alone.
func endProcesses(user int) error {
	deadline := time.Now().Add(endPatience)
	for pause := time.Millisecond; ; pause = min(2*pause, 20*time.Millisecond) {
		left, err := killDescendants(user)
		if left == 0 && err == nil {
			return nil
		}
		if time.Now().After(deadline) {
			return errors.Join(fmt.Errorf("%d processes of user %d do not end", left, user), err)
		}
		time.Sleep(pause)
	}
}

// killDescendants returns how many there were.
func killDescendants(user int) (found int, err error) {
	dir, err := os.Open("/proc")
	if err != nil {
		return 0, err
	}
	defer dir.Close()
	names, err := dir.Readdirnames(-1)
	if err != nil {
		return 0, err
	}
	parents, theirs := map[int]int{}, []int{}
	for _, name := range names {
		pid, err := strconv.Atoi(name)
		if err != nil {
			continue
		}
		s, ok := standingOf(pid)
		if !ok {
			continue
		}
		parents[pid] = s.parent
		if s.user == user && !s.dead {
			theirs = append(theirs, pid)
		}
	}
	for _, pid := range theirs {
		if descends(pid, parents) {
			found++
			killIfOf(pid, user)
		}
	}
	return found, nil
}

// descends reports whether a process is a descendant of ours.
func descends(pid int, parents map[int]int) bool {
	for range len(parents) { // a list of several moments might go in circles
		if pid = parents[pid]; pid == os.Getpid() {
			return true
		}
	}
	return false
}

// killIfOf kills a process if it, and not a later one of the same id, is the user's.
func killIfOf(pid, user int) {
	fd, err := unix.PidfdOpen(pid, 0)
	if err == nil {
		defer unix.Close(fd)
	}
	if s, ok := standingOf(pid); !ok || s.user != user {
		return
	}
	if err == nil {
		_ = unix.PidfdSendSignal(fd, unix.SIGKILL, nil, 0)
		return
	}
	_ = unix.Kill(pid, unix.SIGKILL) // before Linux 5.3
}

// standing is what /proc/PID/status says of a process.
type standing struct {
	user, parent int
	dead         bool // without a living thread
}

func standingOf(pid int) (s standing, ok bool) {
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return s, false
	}
	ended, threads := false, 0
	for line := range bytes.Lines(data) {
		name, rest, _ := bytes.Cut(line, []byte(":"))
		fields := bytes.Fields(rest)
		if len(fields) == 0 {
			continue
		}
		number, _ := strconv.Atoi(string(fields[0]))
		switch string(name) {
		case "State":
			ended = fields[0][0] == 'Z' || fields[0][0] == 'X'
		case "PPid":
			s.parent = number
		case "Uid":
			s.user = number
		case "Threads":
			threads = number
		}
	}
	s.dead = ended && threads <= 1
	return s, true
}
