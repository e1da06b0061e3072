package limits

import (
	"log/slog"
	"os"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"understudy/internal/check"
	"understudy/internal/proc"
	"understudy/internal/sandbox"
	"understudy/sessions"
)

var expect, insist = check.Expect, check.Insist

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
		got := reserve(all)
		expect(t, got == want, "%d of %d, want %d", got, all, want)
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

// In a common directory somebody else may write: a run that hasn't, though the only one, is
// not ended for that. Where nobody else does, who is alone is.
func TestOnlyWritersEndInACommonDirectory(t *testing.T) {
	dir, err := os.Getwd()
	insist(t, err == nil, "%v", err)
	var stat unix.Statfs_t
	if err := unix.Statfs(dir, &stat); err != nil || stat.Type == unix.TMPFS_MAGIC {
		t.Skip("the kernel doesn't count what is written here", err)
	}
	for _, common := range []bool{true, false} {
		w := &fakeWorker{}
		l, all := testLimiter(t, sandbox.Limits{Disk: 1 << 20}, w)
		p, r := l.place(dir, common), &run{held: true}
		p.runs[w] = r
		if l.endWriters(p, all); r.ending == common {
			t.Errorf("common %v, ended %v", common, r.ending)
		}
	}
}

// Files that were held may grow again once there is room, also where nothing runs.
func TestRoomAgain(t *testing.T) {
	p := &place{limit: 1000, size: 900, held: true}
	expect(t, p.isDue(time.Now(), 0, time.Second), "nobody looks whether files may grow again")
	if p.size = 1100; p.isDue(time.Now(), 0, time.Second) {
		t.Error("what is full is counted all the time")
	}
}

// An undo's copy has written nothing yet, however much the one before it had.
func TestACopyCountsFromZero(t *testing.T) {
	w := &fakeWorker{}
	l, _ := testLimiter(t, sandbox.Limits{FileSize: 1 << 20}, w)
	b := &Bounds{written: 1 << 60, writer: os.Getpid() + 1}
	over := l.LetRun(w, b)
	time.Sleep(2 * briefly)
	if over(Outcome{}); b.writer != os.Getpid() || b.written == 1<<60 {
		t.Errorf("%+v", b)
	}
}

// A look at many workers takes a while: the machine's memory is looked at meanwhile.
func TestMemoryIsLookedAtInALongLook(t *testing.T) {
	w := &fakeWorker{busy: true}
	l, all := testLimiter(t, sandbox.Limits{Memory: 1 << 50}, w)
	looks := 0
	l.Available = func() (left, all uint64) { looks++; return 16 << 30, 16 << 30 }
	if l.lookAt(all, time.Now().Add(-l.limits.Poll)); looks != 1 {
		t.Errorf("%d looks", looks)
	}
}

// SQLite's word for a file that can't grow is its word for much else: it has files counted,
// and says nothing by itself.
func TestAnUnclearErrorIsNoLimit(t *testing.T) {
	l, _ := testLimiter(t, sandbox.Limits{FileSize: 1 << 20})
	met := troubleOf(Outcome{Traceback: "sqlite3.OperationalError: disk I/O error"})
	notes := l.fileNotes(t.TempDir(), met, false)
	expect(t, met.unclear && len(notes) == 0, "%+v %q", met, notes)
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
	notes := l.endRun(p, w, &trouble{tooLarge: true})
	expect(t, len(notes) == 0, "%q", notes)
}
