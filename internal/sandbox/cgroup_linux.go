package sandbox

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"
)

// controllers are what a delegated cgroup must have for sessions to be limited by it.
var controllers = []string{"memory", "pids", "cpu"}

// serverGroup is where the server itself goes: a group that hands controllers on to
// its children may hold no processes.
const serverGroup = "understudy-server"

// Groups are below the server's own cgroup (version 2), delegated to it: one for each
// session.
type Groups struct {
	dir   string
	added atomic.Int64
}

// Group is the cgroup of one session. A nil one is none.
type Group struct {
	dir   string
	mu    sync.Mutex
	kills uint64 // those of memory that have been told
}

// FindCgroup returns the directory of the cgroup that is delegated to this process.
// The error says in a clause why there is none. Nothing is changed.
func FindCgroup() (string, error) {
	own, err := os.ReadFile("/proc/self/cgroup")
	if err != nil {
		return "", fmt.Errorf("this system has no cgroups (%w)", err)
	}
	mounts, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		return "", err
	}
	dir, err := ownGroup(string(own), string(mounts))
	if err != nil {
		return "", err
	}
	dir = divided(dir)
	return dir, isDelegated(dir, os.Geteuid() == 0)
}

// ownGroup finds the directory of this process's group of version 2.
func ownGroup(own, mounts string) (string, error) {
	path, found := "", false
	for line := range strings.Lines(own) {
		if rest, ok := strings.CutPrefix(strings.TrimSpace(line), "0::"); ok {
			path, found = rest, true
		}
	}
	if !found {
		return "", errors.New("this system has cgroups of version 1 only")
	}
	if isOutside(path) {
		return "", errors.New("the server's cgroup is outside of its cgroup namespace")
	}
	for line := range strings.Lines(mounts) {
		left, right, _ := strings.Cut(line, " - ")
		fields := strings.Fields(left)
		if len(fields) < 5 || !strings.HasPrefix(right, "cgroup2 ") {
			continue
		}
		below, err := filepath.Rel(fields[3], path) // the mount may show a part of the tree
		if err != nil || isOutside(fields[3]) || strings.HasPrefix(below, "..") {
			continue
		}
		return filepath.Join(fields[4], below), nil
	}
	return "", errors.New("no cgroups of version 2 are mounted")
}

// isOutside reports whether a path of the tree is beyond the root of our cgroup
// namespace, as that of a mount which a container has from its host: where our groups
// are in there can't be told, and Rel would take its ".." for the root itself.
func isOutside(path string) bool { return path == "/.." || strings.HasPrefix(path, "/../") }

// divided is the group that another server has divided before, whose leaf we were born
// in: a supervisor that starts it once more has moved there too.
func divided(dir string) string {
	if filepath.Base(dir) == serverGroup {
		return filepath.Dir(dir)
	}
	return dir
}

// isDelegated says why a group is not ours to divide. Root may write everywhere, so
// for root it must be the top of a container or marked by systemd (Delegate=yes).
func isDelegated(dir string, root bool) error {
	have, err := os.ReadFile(filepath.Join(dir, "cgroup.controllers"))
	if err != nil {
		return fmt.Errorf("the server's cgroup can't be read (%w)", err)
	}
	for _, wanted := range controllers {
		if !bytes.Contains(append([]byte(" "), bytes.ReplaceAll(have, []byte("\n"), []byte(" "))...), []byte(" "+wanted+" ")) {
			return fmt.Errorf("the server's cgroup has no controller %s", wanted)
		}
	}
	for _, name := range []string{".", "cgroup.procs", "cgroup.subtree_control"} {
		if err := unix.Access(filepath.Join(dir, name), unix.W_OK); err != nil {
			return fmt.Errorf("the server's cgroup is not delegated to it (%w)", err)
		}
	}
	if _, err := os.Stat(filepath.Join(dir, "memory.max")); err != nil {
		return errors.New("the server runs in the machine's topmost cgroup; start it as a service with Delegate=yes")
	}
	if root && !isMarked(dir) && !isTopOfContainer(dir) {
		return errors.New("the server's cgroup is not delegated to it (Delegate=yes)")
	}
	return nil
}

// isMarked reports whether systemd has delegated the group.
func isMarked(dir string) bool {
	for _, name := range []string{"trusted.delegate", "user.delegate"} {
		var value [8]byte
		if n, err := unix.Getxattr(dir, name, value[:]); err == nil && string(value[:n]) == "1" {
			return true
		}
	}
	return false
}

// isTopOfContainer reports whether nothing of the tree above the group is mounted.
func isTopOfContainer(dir string) bool {
	_, err := os.Stat(filepath.Join(filepath.Dir(dir), "cgroup.procs"))
	return errors.Is(err, fs.ErrNotExist)
}

// OpenCgroups makes the delegated cgroup ready for groups of sessions: what runs in it
// moves to a group below. Groups that an earlier server has left empty are removed.
func OpenCgroups() (*Groups, error) {
	dir, err := FindCgroup()
	if err != nil {
		return nil, err
	}
	return openCgroups(dir)
}

func openCgroups(dir string) (*Groups, error) {
	leaf := filepath.Join(dir, serverGroup)
	if err := os.Mkdir(leaf, 0o755); err != nil && !errors.Is(err, fs.ErrExist) {
		return nil, err
	}
	if err := moveAll(dir, leaf); err != nil {
		return nil, err
	}
	if err := write(dir, "cgroup.subtree_control", "+"+strings.Join(controllers, " +")); err != nil {
		return nil, err
	}
	left, _ := filepath.Glob(filepath.Join(dir, "session-*")) // its only error is that of a bad pattern
	for _, each := range left {
		_ = unix.Rmdir(each) // not what somebody is in
	}
	return &Groups{dir: dir}, nil
}

// moveAll moves all processes of a group, those too that begin meanwhile.
func moveAll(from, to string) error {
	for range 10 {
		data, err := os.ReadFile(filepath.Join(from, "cgroup.procs"))
		if err != nil {
			return err
		}
		pids := strings.Fields(string(data))
		if len(pids) == 0 {
			return nil
		}
		for _, pid := range pids {
			if err := write(to, "cgroup.procs", pid); err != nil && !errors.Is(err, unix.ESRCH) {
				return err
			}
		}
	}
	return errors.New("the processes of the server's cgroup don't move")
}

// Add makes the group of a session, of a name that no other has. Limits that are 0 are
// not set.
func (c *Groups) Add(l Limits) (*Group, error) {
	g := &Group{}
	for {
		g.dir = filepath.Join(c.dir, fmt.Sprintf("session-%d", c.added.Add(1)))
		err := os.Mkdir(g.dir, 0o755)
		if err == nil {
			break
		}
		if !errors.Is(err, fs.ErrExist) { // those are another server's, or were
			return nil, err
		}
	}
	if err := g.limit(l); err != nil {
		g.Remove()
		return nil, err
	}
	return g, nil
}

func (g *Group) limit(l Limits) error {
	var failure error
	if l.Memory > 0 {
		// A bound for what is quicker than the server's looks. Whom the kernel ends may be
		// the copy that has the state from before, and of a process it counts each page
		// again that it has changed since it was copied: a session that stays within its
		// limit, or meets a MemoryError first, must not get here.
		failure = write(g.dir, "memory.max", strconv.FormatInt(2*l.Memory+MemoryAllowance, 10))
		// The rest is best effort: without swap there is no such file, and of the
		// processes the kernel kills one, which is as it is from the start.
		_ = write(g.dir, "memory.swap.max", "0")
		_ = write(g.dir, "memory.oom.group", "0")
	}
	if l.Processes > 0 {
		failure = errors.Join(failure, write(g.dir, "pids.max", strconv.Itoa(l.Processes)))
	}
	if l.CPUs > 0 {
		const period = 100_000 // microseconds
		failure = errors.Join(failure, write(g.dir, "cpu.max", fmt.Sprintf("%d %d", max(1000, int(l.CPUs*period)), period)))
	}
	return failure
}

// Enter moves a process into the group; what it starts from now on is in it too.
func (g *Group) Enter(pid int) error { return write(g.dir, "cgroup.procs", strconv.Itoa(pid)) }

// KilledForMemory reports whether the kernel has killed a process of the group since
// it was last asked, because the memory limit was reached.
func (g *Group) KilledForMemory() bool {
	data, err := os.ReadFile(filepath.Join(g.dir, "memory.events"))
	if err != nil {
		return false
	}
	for line := range strings.Lines(string(data)) {
		fields := strings.Fields(line)
		if len(fields) == 2 && fields[0] == "oom_kill" {
			kills, _ := strconv.ParseUint(fields[1], 10, 64)
			g.mu.Lock()
			defer g.mu.Unlock()
			more := kills > g.kills
			g.kills = kills
			return more
		}
	}
	return false
}

// Remove kills what is left in the group and removes it.
func (g *Group) Remove() {
	if g == nil {
		return
	}
	_ = write(g.dir, "cgroup.kill", "1") // from Linux 5.14; the workers' kin are dead anyway
	for pause := time.Millisecond; pause < time.Second; pause *= 2 {
		if err := unix.Rmdir(g.dir); !errors.Is(err, unix.EBUSY) {
			return
		}
		time.Sleep(pause) // the dead leave one after the other
	}
}

// write writes to a file that is there: files of cgroups are not made.
func write(dir, name, text string) error {
	file, err := os.OpenFile(filepath.Join(dir, name), os.O_WRONLY|os.O_TRUNC, 0)
	if err != nil {
		return err
	}
	_, err = file.WriteString(text)
	return errors.Join(err, file.Close())
}
