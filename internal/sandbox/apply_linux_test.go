package sandbox

import (
	"os"
	"os/exec"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"understudy/internal/proc"
)

// Root without CAP_SYS_RESOURCE has no power over another user's limits: what those
// processes are held to already is not asked for again, and what they are not is told.
func TestApplyToAnotherUser(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root starts processes of other users")
	}
	begin := func(files string) int {
		cmd := exec.Command("prlimit", "--nofile="+files, "--", "sh", "-c", "echo; read line")
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
		in, _ := cmd.StdinPipe()
		out, _ := cmd.StdoutPipe()
		if err := cmd.Start(); err != nil {
			t.Skip(err)
		}
		t.Cleanup(func() { _ = in.Close(); _ = cmd.Wait() })
		if _, err := out.Read(make([]byte, 1)); err != nil {
			t.Fatal(err)
		}
		return cmd.Process.Pid
	}
	limits := Limits{OpenFiles: 60}
	for _, files := range []string{"60:60", "20:50"} {
		if err := limits.Apply(begin(files), false); err != nil {
			t.Errorf("%s: %v", files, err)
		}
	}
	pid := begin("60:100")
	var now unix.Rlimit
	err := limits.Apply(pid, false)
	_, got, _ := proc.LimitOf(pid, "Max open files")
	expect(t, (err != nil || got == 60) && (err == nil || got == 100), "%v, and it may have %d", err, got)
	expect(t, unix.Prlimit(pid, unix.RLIMIT_NOFILE, nil, &now) != nil || err == nil, "%v", err)
}
