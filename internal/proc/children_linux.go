package proc

import (
	"errors"
	"fmt"
	"log/slog"
	"math"
	"os"
	"os/exec"
	"os/signal"
	"strconv"
	"strings"
	"sync"

	"golang.org/x/sys/unix"
)

// children are the processes of ours that have an owner who waits for them. All
// other children of the server are orphans, which it reaps; the lock is held across
// a start so that no child is taken for one before its id is known.
//
// Commands that other packages start are safe too as long as they stay in the
// server's process group, which no worker's kin are in.
var children = struct {
	sync.Mutex
	pids map[int]bool
}{pids: map[int]bool{}}

// StartChild starts a command that WaitChild is to wait for.
func StartChild(cmd *exec.Cmd) error {
	children.Lock()
	defer children.Unlock()
	if err := cmd.Start(); err != nil {
		return err
	}
	children.pids[cmd.Process.Pid] = true
	return nil
}

// WaitChild waits for such a command and lets go of its process id.
func WaitChild(cmd *exec.Cmd) error {
	err := cmd.Wait()
	DropChild(cmd.Process.Pid)
	return err
}

// reapOrphans reaps those orphans that are dead.
func reapOrphans() {
	children.Lock()
	defer children.Unlock()
	own := unix.Getpgrp()
	for _, pid := range childPIDs() {
		if children.pids[pid] {
			continue
		}
		if p, ok := Read(pid); ok && p.Dead && p.group != own {
			_, _ = unix.Wait4(pid, nil, unix.WNOHANG, nil)
		}
	}
}

// canListChildren reports whether the kernel has CONFIG_PROC_CHILDREN.
var canListChildren = sync.OnceValue(func() bool {
	_, err := os.Stat(fmt.Sprintf("/proc/self/task/%d/children", os.Getpid()))
	return err == nil
})

// childPIDs lists the children of this process.
func childPIDs() []int {
	if canListChildren() {
		pids, _ := ChildrenOf(os.Getpid())
		return pids
	}
	procs, _ := List()
	var pids []int
	for _, p := range procs {
		if p.Parent == os.Getpid() {
			pids = append(pids, p.PID)
		}
	}
	return pids
}

// ChildrenOf lists the children of all threads of a process; with an error, some
// may be missing.
func ChildrenOf(pid int) (pids []int, err error) {
	tasks, err := os.ReadDir(fmt.Sprintf("/proc/%d/task", pid))
	if err != nil {
		return nil, unlessGone(err)
	}
	for _, task := range tasks {
		data, failed := readOf(pid, "task/"+task.Name()+"/children")
		if failed != nil {
			err = errors.Join(err, unlessGone(failed))
		}
		for _, field := range strings.Fields(string(data)) {
			if pid, err := strconv.Atoi(field); err == nil {
				pids = append(pids, pid)
			}
		}
	}
	return pids, err
}

// ChildrenFinder lists children one by one, or by one look at all processes where
// the kernel doesn't list them.
func ChildrenFinder() func(pid int) []int {
	if canListChildren() {
		return func(pid int) []int {
			children, _ := ChildrenOf(pid) // whom it can't see now it sees next time
			return children
		}
	}
	all := map[int][]int{}
	procs, _ := List()
	for _, p := range procs {
		all[p.Parent] = append(all[p.Parent], p.PID)
	}
	return func(pid int) []int { return all[pid] }
}

// KeepChild leaves a process to be reaped by its owner, should it ever come to
// this one as an orphan; DropChild ends that.
func KeepChild(pid int) {
	children.Lock()
	defer children.Unlock()
	children.pids[pid] = true
}

// DropChild is called when the process has been reaped, or needs no owner any more.
func DropChild(pid int) {
	children.Lock()
	defer children.Unlock()
	delete(children.pids, pid)
}

// A Reaper reaps orphans as they die.
type Reaper struct {
	signals chan os.Signal
	done    sync.WaitGroup
}

// AdoptOrphans makes this process the one that orphans come to. It holds for
// the process's life.
func AdoptOrphans(log *slog.Logger) {
	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
		log.Warn("orphaned processes can't be adopted", "error", err)
	}
}

// KeepDescriptors keeps from all later children what this process itself has
// inherited: some launchers leave files and pipes of their own open. Those that
// a command passes on purpose are not touched. Before Linux 5.11 it can't.
func KeepDescriptors() {
	_ = unix.CloseRange(3, math.MaxUint32, unix.CLOSE_RANGE_CLOEXEC)
}

// StartReaper has orphans reaped as they die. It calls also whenever a child has changed.
func StartReaper(also func()) *Reaper {
	r := &Reaper{signals: make(chan os.Signal, 1)}
	signal.Notify(r.signals, unix.SIGCHLD)
	r.done.Go(func() {
		for range r.signals {
			also()
			reapOrphans()
		}
	})
	return r
}

// Close reaps those who are dead, for the last time.
func (r *Reaper) Close() {
	signal.Stop(r.signals)
	close(r.signals)
	r.done.Wait()
	reapOrphans()
}
