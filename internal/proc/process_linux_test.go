package proc

import (
	"log/slog"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"understudy/internal/check"
)

var expect, insist = check.Expect, check.Insist

// awaitDead waits until a child is dead, and leaves it to be reaped.
func awaitDead(t *testing.T, pid int) {
	t.Helper()
	for until := time.Now().Add(time.Minute); time.Now().Before(until); time.Sleep(10 * time.Millisecond) {
		if p, ok := Read(pid); !ok || p.Dead {
			return
		}
	}
	t.Fatal("in vain: the command ends")
}

// The reaper must leave commands alone that other packages wait for.
func TestReaperStealsNoStatus(t *testing.T) {
	r := StartReaper(func() {})
	defer r.Close()
	for range 50 {
		cmd := exec.Command("sh", "-c", "exit 3")
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		awaitDead(t, cmd.Process.Pid)
		reapOrphans()
		if err := cmd.Wait(); err == nil || cmd.ProcessState.ExitCode() != 3 {
			t.Fatalf("got %v", err)
		}
	}
}

func TestParseStat(t *testing.T) {
	t.Parallel()
	const line = "77 (a ) b (c) R 2) S 5 6 7 0 -1 4194560 1 2 3 4 5 6 7 8 20 0 3 0 12345 1 2"
	p, ok := parseStat(77, line)
	want := Process{ID: ID{77, 12345}, Parent: 5, group: 6, session: 7}
	expect(t, ok && p == want, "got %+v, want %+v", p, want)
	if _, ok := parseStat(77, "77 (x"); ok {
		t.Error("a broken line was read")
	}
	// The first thread of a process may be gone while others run.
	if p, _ = parseStat(77, strings.Replace(line, " S ", " Z ", 1)); p.Dead {
		t.Error("a process with threads counts as dead")
	}
}

func TestSparedIsNotEnded(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("needs root, for a process of another user")
	}
	cmd := exec.Command("sleep", "60")
	cmd.Dir = "/"
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = cmd.Process.Kill(); _ = cmd.Wait() }()
	ended := make(chan bool)
	go func() {
		runtime.LockOSThread() // and the thread ends with this: nobody else loses the capability
		header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
		var data [2]unix.CapUserData
		if err := unix.Capget(&header, &data[0]); err != nil {
			t.Error(err)
		}
		data[0].Effective &^= 1 << unix.CAP_KILL
		if err := unix.Capset(&header, &data[0]); err != nil {
			t.Error(err)
		}
		loop := killLoop{log: slog.New(slog.DiscardHandler), find: func() ([]ID, error) { return []ID{identify(cmd.Process.Pid)}, nil }}
		ended <- loop.run()
	}()
	expect(t, !<-ended, "a process that may not be killed counts as ended")
}

func TestKillExactlySparesALaterProcess(t *testing.T) {
	cmd := exec.Command("sleep", "1000")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	p, _ := Read(cmd.Process.Pid)
	Kill(ID{p.PID, p.Start - 1})
	now, ok := Read(p.PID)
	expect(t, ok && !now.Dead, "a later process was killed")
	Kill(p.ID)
	if err := cmd.Wait(); err == nil {
		t.Error("it was not killed")
	}
}
