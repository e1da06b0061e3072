package main

import (
	"crypto/rand"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

const dump = `SIGQUIT: quit

goroutine 0 gp=0x0 m=0 [idle]:
runtime.futex(0x1)
	sys_linux_amd64.s:1

goroutine 1 gp=0x1 m=nil [select, 2 minutes]:
runtime.gopark(0x1, 0x2)
	proc.go:1
main.main()
	main.go:1
runtime.main()
	proc.go:1
runtime.goexit({})
	asm_amd64.s:1

goroutine 7 gp=0x2 m=nil [GC worker (idle)]:
runtime.gopark(0x1)
	proc.go:1
runtime.gcBgMarkWorker(0x1)
	mgc.go:1
created by runtime.gcBgMarkStartWorkers in goroutine 1
	mgc.go:1

goroutine 8 gp=0x3 m=nil [chan receive]:
understudy/sessions.(*turn).claim(0x1, {0x2, 0x3})
	turn.go:1
understudy/sessions.(*Session).end.func1()
	session.go:1
sync.(*WaitGroup).Go.func1()
	waitgroup.go:1
runtime.goexit({})
	asm_amd64.s:1
created by sync.(*WaitGroup).Go in goroutine 1
	waitgroup.go:1

goroutine 9 gp=0x4 m=nil [runnable]:
understudy/sessions.(*Session).end.func1()
	session.go:1
created by sync.(*WaitGroup).Go in goroutine 7
	waitgroup.go:1

rax    0x0
`

func TestGoroutinesAreCountedByWhatTheyBeganWith(t *testing.T) {
	const end = "understudy/sessions.(*Session).end.func1"
	got := readGoroutines(dump)
	if diff := cmp.Diff(numbers{end: 2}, got); diff != "" {
		t.Error(diff)
	}
	idle := numbers{end: 1, "other": 1}
	if err := got.beyond(idle); err == nil || !strings.Contains(err.Error(), "1 "+end) {
		t.Errorf("got %v", err)
	}
	if err := idle.beyond(got); err == nil || strings.Contains(err.Error(), end) {
		t.Errorf("got %v", err)
	}
}

func TestProcessesAreFoundByMarkAndParent(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("processes are found through /proc")
	}
	cmd := exec.Command("sleep", "1000")
	mark := markName + "=" + rand.Text() // another run of this test may be under way
	cmd.Env = append(os.Environ(), mark)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	pid := cmd.Process.Pid
	found := childrenOf(os.Getpid())
	if len(found) == 0 || found[len(found)-1] != pid || !isRunning(pid) {
		t.Errorf("the children are %v, not %d", found, pid)
	}
	// Start returns in the midst of exec, when the environment is not there yet.
	left := marked(mark)
	for deadline := time.Now().Add(endTime); len(left) == 0 && time.Now().Before(deadline); left = marked(mark) {
		time.Sleep(time.Millisecond)
	}
	if len(left) != 1 {
		t.Errorf("marked are %v", left)
	}
	if err := killProcess(pid); err != nil {
		t.Fatal(err)
	}
	for deadline := time.Now().Add(endTime); isRunning(pid); time.Sleep(time.Millisecond) { // a zombie is dead
		if time.Now().After(deadline) {
			t.Fatal("it lives")
		}
	}
	_ = cmd.Wait() // killed
	if left := marked(mark); len(left) != 0 {
		t.Errorf("marked are %v", left)
	}
}

func TestFilesThatAreLeftAreFound(t *testing.T) {
	dir := t.TempDir()
	if err := noFiles(dir + "/*"); err != nil {
		t.Error(err)
	}
	if err := os.MkdirAll(dir+"/run/empty/work", 0o700); err != nil {
		t.Fatal(err)
	}
	if err := noFiles(dir + "/run/*/work"); err != nil {
		t.Error(err)
	}
	if err := noFiles(dir + "/run"); err == nil {
		t.Error("a directory was overlooked")
	}
}
