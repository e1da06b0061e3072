package worker

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"understudy/internal/proc"
	"understudy/internal/sandbox"
	"understudy/internal/worker/workertest"
	"understudy/sessions"
)

// forge has orphans take a tag, and leave all else that marks them behind.
const forge = `
import os, resource, sys, time
tag, each = %d, "x = bytearray(120 << 20); x[::4096] = b'x' * len(x[::4096]); import time; time.sleep(1000)"
for _ in range(4):
    pid = os.fork()
    if not pid:
        os.setsid()
        if os.fork(): os._exit(0)
        resource.setrlimit(10, (tag, tag))
        null = os.open(os.devnull, os.O_RDWR)
        for fd in range(3): os.dup2(null, fd)
        os.execve(sys.executable, ["python", "-I", "-S", "-c", each], {})
    os.waitpid(pid, 0)
time.sleep(20)
`

// Where nothing keeps code from changing its tag, as root's in a container, its user
// tells whose its processes are: another's tag harms nobody else, and none helps it.
func TestForgedTags(t *testing.T) {
	host, err := hostOf()
	must(t, err)
	if host.User != 0 || host.NoUsers != "" {
		t.Skip("only root has users to hand out")
	}
	host.NoSeccomp = "left out for the test"
	wall, behind := wallOn(t, host, sandbox.Settings{})
	z := testZygote(t, behind, func(o *Options) {
		o.Preload = []string{"json"}
		o.Limits = sandbox.Limits{Memory: 300 << 20, Poll: 20 * time.Millisecond}
	})
	begin := func(name string) *worker {
		w, err := walled{z, wall, t}.Start(context.Background(), sessions.Spec{InterpreterID: name, Workdir: t.TempDir(), FirstExecution: 1})
		must(t, err)
		closeLater(t, w)
		return w.(*worker)
	}
	for _, name := range []string{"another's", "nobody's"} {
		t.Run(name, func(t *testing.T) {
			forger, victim := begin("forger of "+name+" tag"), begin("victim of "+name+" tag") // later, so lower
			tag := victim.line.kin.Mark.Tag
			if name == "nobody's" {
				tag = 1
			}
			s, _ := proc.StatusOf(forger.process.pid)
			ended := make(chan error, 1)
			go func() {
				_, err := victim.Run(context.Background(), sessions.Request{Execution: 1, Code: "import time\nwhile True: time.sleep(.01)"}, workertest.NewRecorder())
				ended <- err
			}()
			reason := breaks(t, forger, fmt.Sprintf(forge, tag))
			expect(t, strings.HasPrefix(reason, "memory limit of 300 MiB reached ("), "%v", reason)
			forger.process.wait(context.Background(), proc.KillGrace)
			procs, err := proc.List()
			must(t, err)
			for _, p := range procs {
				now, ok := proc.StatusOf(p.PID)
				expect(t, !ok || now.User != s.User || p.Dead, "process %d lives on", p.PID)
			}
			fine(t, victim.Interrupt())
			if err := <-ended; err != nil {
				t.Errorf("the other worker's run: %v", err)
			}
		})
	}
}
