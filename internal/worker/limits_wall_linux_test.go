package worker

import (
	"path/filepath"
	"strings"
	"testing"
	"time"

	"understudy/internal/sandbox"
	"understudy/internal/worker/workertest"
	"understudy/sessions"
)

// behindWall returns a worker behind a wall with these limits.
func behindWall(t *testing.T, limits sandbox.Limits) *worker {
	t.Helper()
	limits.Poll = 20 * time.Millisecond
	library := filepath.Join(t.TempDir(), "lib")
	wall := testWall(t, sandbox.Settings{Python: []string{library}, Limits: limits})
	z := testZygote(t, func(o *Options) { o.LibraryDir, o.Wall = library, wall })
	return workertest.Start(t, walled{z, wall, t}).(*worker)
}

// What the limiter does without a wall it does with one: no namespace, user or missing
// privilege hides what a worker uses.
func TestLimitsBehindTheWall(t *testing.T) {
	t.Run("memory", func(t *testing.T) {
		w := behindWall(t, sandbox.Limits{Memory: 300 << 20})
		reason := breaks(t, w, grab+"import os, time\nfor _ in range(4):\n    if not os.fork():\n        grab(120); time.sleep(1000)\ntime.sleep(1000)")
		if !strings.HasPrefix(reason, "memory limit of 300 MiB reached (") {
			t.Error(reason)
		}
	})
	t.Run("memory of one process", func(t *testing.T) {
		w := behindWall(t, sandbox.Limits{Memory: 300 << 20})
		_, sink := workertest.Run(t, w, grab+"try:\n    while True: grab(10)\nexcept MemoryError: print('refused')")
		if got := sink.All(); got != "refused\n" {
			t.Errorf("%q", got)
		}
	})
	t.Run("processes", func(t *testing.T) {
		w := behindWall(t, sandbox.Limits{Processes: 20})
		// Either the kernel refuses the fork, or the limiter sees too many.
		outcome, err := w.Run(t.Context(), sessions.Request{Execution: 1, Code: "import os, time\nfor _ in range(40):\n    if not os.fork(): time.sleep(1000)\ntime.sleep(1000)"}, workertest.NewRecorder())
		refused := outcome.Exception != nil && outcome.Exception.Type == "BlockingIOError"
		if !refused && (err == nil || !strings.HasPrefix(err.Error(), "process limit of 20 reached")) {
			t.Errorf("%+v, %v", outcome.Exception, err)
		}
	})
	t.Run("disk", func(t *testing.T) {
		w := behindWall(t, sandbox.Limits{Disk: 20 << 20})
		reason := breaks(t, w, `
import os, tempfile, time
dir = tempfile.mkdtemp()
n = 0
while True:
    for _ in range(20):  # so small that they are none too large
        with open(f"{dir}/{n}", "wb") as f: f.write(os.urandom(50_000))
        n += 1
    time.sleep(0.02)
`)
		if !strings.Contains(reason, "disk limit of 20 MiB (--disk-limit) reached") {
			t.Error(reason)
		}
	})
}
