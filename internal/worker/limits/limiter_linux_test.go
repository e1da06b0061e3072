package limits

import (
	"log/slog"
	"os"
	"strings"
	"testing"
	"time"

	"understudy/internal/sandbox"
	"understudy/internal/worker/proc"
	"understudy/sessions"
)

// A fakeWorker is this process, as a worker.
type fakeWorker struct {
	busy  bool
	dead  bool
	ended []string // causes
	kin   *proc.Kin
}

func (w *fakeWorker) WithPID(act func(pid int)) { act(os.Getpid()) }
func (w *fakeWorker) Busy() bool                { return w.busy }
func (w *fakeWorker) Spec() *sessions.Spec      { return &sessions.Spec{} }
func (w *fakeWorker) Kin() *proc.Kin            { return w.kin }
func (w *fakeWorker) Living() ([]proc.ID, bool) { return nil, true }
func (w *fakeWorker) End(cause string)          { w.ended = append(w.ended, cause) }
func (w *fakeWorker) Ended() *sessions.CrashError {
	if w.dead {
		return &sessions.CrashError{}
	}
	return nil
}

// testLimiter returns a Limiter of these workers that doesn't watch.
func testLimiter(t *testing.T, limits sandbox.Limits, workers ...*fakeWorker) (*Limiter, []Worker) {
	t.Helper()
	registry := proc.NewRegistry()
	var all []Worker
	for _, w := range workers {
		w.kin = proc.NewKin(os.Getpid(), proc.NewNonce().Mark("test", 1), registry, slog.New(slog.DiscardHandler))
		all = append(all, w)
	}
	l := New(Options{Limits: limits, Registry: registry, Log: slog.New(slog.DiscardHandler), Present: func() []Worker { return all }})
	t.Cleanup(l.Close)
	l.remember(all)
	return l, all
}

// Who ends just when the machine's memory has been looked at has freed what is missing:
// no idle one goes for that.
func TestGuardWhileSomebodyEnds(t *testing.T) {
	idler, dying := &fakeWorker{}, &fakeWorker{busy: true}
	l, all := testLimiter(t, sandbox.Limits{Memory: 4 << 30}, idler, dying)
	l.Available = func() (left, all uint64) { dying.dead = true; return 1 << 20, 8 << 30 }
	now := time.Now()
	l.victim, l.since = dying, now
	if scarce := l.protect(all, now); !scarce || l.records[idler].ending {
		t.Errorf("scarce %v, and the idle one is ended: %v", scarce, l.records[idler].ending)
	}
}

// While nothing runs, memory that is short is no reason to look all the time.
func TestScarceMemoryIsLookedAtSeldomWhileNothingRuns(t *testing.T) {
	w := &fakeWorker{}
	l, _ := testLimiter(t, sandbox.Limits{Memory: 1 << 50}, w)
	l.Available = func() (left, all uint64) { return 1 << 30, 16 << 30 }
	if pause, busy := l.round(time.Now()); busy || pause != l.limits.Poll {
		t.Errorf("%v, %v", pause, busy)
	}
	w.busy = true
	if pause, busy := l.round(time.Now()); !busy || pause != l.limits.Poll/10 {
		t.Errorf("%v, %v", pause, busy)
	}
}

func TestReserve(t *testing.T) {
	for all, want := range map[uint64]uint64{512 << 20: 64 << 20, 4 << 30: 256 << 20, 100 << 30: (100 << 30) / 25} {
		if got := reserve(all); got != want {
			t.Errorf("%d of %d, want %d", got, all, want)
		}
	}
}

// killedOnce is a group in which the kernel has killed a process that nobody asked for.
type killedOnce struct{ untold bool }

func (g *killedOnce) KilledForMemory() (killed bool) {
	killed, g.untold = g.untold, false
	return killed
}
func (g *killedOnce) Remove() {}

// A child that the kernel killed in an earlier run doesn't explain how a later one ends.
func TestAnOldKillIsNotBlamed(t *testing.T) {
	w := &fakeWorker{}
	l, _ := testLimiter(t, sandbox.Limits{Memory: 4 << 30}, w)
	group := &killedOnce{untold: true}
	b := &Bounds{memory: 4 << 30, group: group}
	l.LetRun(w, b)(Outcome{})
	if got := b.Verdict(); got != "" {
		t.Errorf("an old kill: %q", got)
	}
	group.untold = true
	if got := b.Verdict(); !strings.HasPrefix(got, "memory limit of 4.0 GiB reached") {
		t.Errorf("a new one: %q", got)
	}
}

// TestJudge: files are held at the first growth beyond the limit, and only who grows after
// that is ended; who began beyond it is measured by what was there then.
func TestJudge(t *testing.T) {
	const mib = 1 << 20
	for _, test := range []struct {
		what       string
		held       bool  // its files are
		base, size int64 // MiB
		holds, end bool
	}{
		{"there is room", false, 10, 900, false, false},
		{"nobody knows what it began with", false, uncounted, 2000, false, false},
		{"it has passed the limit", false, 10, 2000, true, false},
		{"it began beyond it", false, 2000, 2000, false, false},
		{"and has written more", false, 2000, 2100, true, false},
		{"it goes on", true, 2000, 2100, false, true},
		{"it has stopped", true, 2000, 2000, false, false},
		{"it has deleted", true, 2000, 900, false, false},
	} {
		w, began := &fakeWorker{}, max(test.base*mib, uncounted)
		p := &place{limit: 1000 * mib, size: test.size * mib, held: test.held, runs: map[Worker]*run{w: {base: began, held: test.held}}}
		if hold, end := p.judge(); hold != test.holds || (len(end) > 0) != test.end || p.held != (test.size > 1000 && (hold || test.held)) {
			t.Errorf("%s: held %v %v, %d are to end", test.what, hold, p.held, len(end))
		}
	}
}

// A count that runs out of time is not waited for again.
func TestACountOutOfTime(t *testing.T) {
	w := &fakeWorker{}
	l, _ := testLimiter(t, sandbox.Limits{Disk: 20 << 20}, w)
	l.Patience = 0
	p := l.place(t.TempDir(), true)
	l.letWrite(p, w)
	if p.size != uncounted || p.runs[w].base != uncounted || p.looked.IsZero() {
		t.Errorf("%+v %+v", p, p.runs[w])
	}
	if notes := l.endRun(p, w, &trouble{tooLarge: true}); len(notes) > 0 {
		t.Errorf("%q", notes)
	}
}
