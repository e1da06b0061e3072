package worker

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

// startChild starts a command that waitChild is to wait for.
func startChild(cmd *exec.Cmd) error {
	children.Lock()
	defer children.Unlock()
	if err := cmd.Start(); err != nil {
		return err
	}
	children.pids[cmd.Process.Pid] = true
	unshelter(cmd.Process.Pid)
	return nil
}

func waitChild(cmd *exec.Cmd) error {
	err := cmd.Wait()
	dropChild(cmd.Process.Pid)
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
		if p, ok := readProc(pid); ok && p.dead && p.group != own {
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
		pids, _ := childrenOf(os.Getpid())
		return pids
	}
	procs, _ := listProcs()
	var pids []int
	for _, p := range procs {
		if p.parent == os.Getpid() {
			pids = append(pids, p.pid)
		}
	}
	return pids
}

// childrenOf lists the children of all threads of a process; with an error, some
// may be missing.
func childrenOf(pid int) (pids []int, err error) {
	tasks, err := os.ReadDir(fmt.Sprintf("/proc/%d/task", pid))
	if err != nil {
		return nil, unlessGone(err)
	}
	for _, task := range tasks {
		data, failed := os.ReadFile(fmt.Sprintf("/proc/%d/task/%s/children", pid, task.Name()))
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

// keepChild leaves a process to be reaped by its owner, should it ever come to
// this one as an orphan; dropChild ends that.
func keepChild(pid int) {
	children.Lock()
	defer children.Unlock()
	children.pids[pid] = true
}

func dropChild(pid int) {
	children.Lock()
	defer children.Unlock()
	delete(children.pids, pid)
}

// reaper reaps orphans as they die.
type reaper struct {
	signals chan os.Signal
	done    sync.WaitGroup
}

// adoptOrphans makes this process the one that orphans come to. It holds for
// the process's life.
func adoptOrphans(log *slog.Logger) {
	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
		log.Warn("orphaned processes can't be adopted", "error", err)
	}
}

// keepDescriptors keeps from all later children what this process itself has
// inherited: some launchers leave files and pipes of their own open. Those that
// a command passes on purpose are not touched. Before Linux 5.11 it can't.
func keepDescriptors() {
	_ = unix.CloseRange(3, math.MaxUint32, unix.CLOSE_RANGE_CLOEXEC)
}

func startReaper(f *forkers) *reaper {
	r := &reaper{signals: make(chan os.Signal, 1)}
	signal.Notify(r.signals, unix.SIGCHLD)
	r.done.Go(func() {
		for range r.signals {
			f.resume()
			reapOrphans()
		}
	})
	return r
}

func (r *reaper) close() {
	signal.Stop(r.signals)
	close(r.signals)
	r.done.Wait()
	reapOrphans()
}
