package upstream

import (
	"bufio"
	"log/slog"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"

	"understudy/internal/proc"
)

// A killed server of ours leaves none of its upstream servers, nor what they started.
func TestKilledServer(t *testing.T) {
	t.Parallel()
	proc.AdoptOrphans(slog.Default())
	self, err := os.Executable()
	must(t, err)
	cmd := exec.Command(self)
	cmd.Env = append(os.Environ(), "UPSTREAM_TEST_SERVER=doomed")
	out, err := cmd.StdoutPipe()
	must(t, err)
	must(t, cmd.Start())
	line, err := bufio.NewReader(out).ReadString('\n')
	must(t, err)
	var ids []proc.ID
	for _, field := range strings.Fields(line) {
		pid, err := strconv.Atoi(field)
		must(t, err)
		process, ok := proc.Read(pid)
		insist(t, ok && !process.Dead, "%s: process %d is not there", line, pid)
		ids = append(ids, process.ID)
	}
	must(t, cmd.Process.Kill())
	_ = cmd.Wait()
	ctx := soon(t)
	for _, id := range ids {
		for ticks := time.NewTicker(5 * time.Millisecond); ; {
			if process, ok := proc.Read(id.PID); !ok || process.Dead || process.ID != id {
				ticks.Stop()
				break
			}
			select {
			case <-ticks.C:
			case <-ctx.Done():
				t.Fatalf("process %v lives on", id)
			}
		}
	}
}

// All that a server has started ends with it, also who left its group, and a server that
// does not mind the end of its input.
func TestCloseEndsAll(t *testing.T) {
	t.Parallel()
	proc.AdoptOrphans(slog.Default()) // as the server does for its workers
	s := stdioServers(t, Options{}, "stubborn")
	var ids []proc.ID
	for _, tool := range []string{"spawn", "orphan"} {
		got, _, err := callTool(soon(t), t, s, "stubborn", tool, "")
		must(t, err)
		pid, err := strconv.Atoi(got.Content[0].Text)
		must(t, err)
		process, ok := proc.Read(pid)
		insist(t, ok && !process.Dead, "%s started nothing", tool)
		ids = append(ids, process.ID)
	}
	s.Close()
	for _, id := range ids {
		process, ok := proc.Read(id.PID)
		expect(t, !ok || process.Dead || process.ID != id, "process %v lives on", id)
	}
}
