package main

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/dustin/go-humanize"
)

const (
	mostSessions     = 1000        // unless -sessions says otherwise
	manyCalls        = 30          // warm calls, with pauses between, at each size
	wantedManyMemory = 6e9         // bytes for mostSessions
	createsTogether  = 20          // sessions that make one point of the curve
	longestClose     = time.Minute // how long a server may take to end many sessions
)

// crowd is a server whose sessions become more and more.
type crowd struct {
	server  *server
	before  float64 // available memory before the server started
	ids     []string
	creates values // one a session
	steps   []crowdStep
}

// crowdStep is what was found at one size.
type crowdStep struct {
	size           int
	creates, asked values
	call           float64
	once, twice    weight // after so many calls: with a copy for a crash; for an undo too
}

// weight is what all sessions need.
type weight struct {
	proportional, gone float64 // bytes: of all processes; of the machine's available memory
	processes          int
}

// measureMany measures one server while its sessions become many.
func measureMany(ctx context.Context, b *bench) (err error) {
	if !needsFork("many") {
		return nil
	}
	kernel, err := kernelPrivate(ctx, b)
	if err != nil {
		return err
	}
	c := &crowd{}
	if c.before, err = available(); err != nil {
		return err
	}
	limit := strconv.Itoa(b.sessions + 1)
	if c.server, err = startWarmServer(ctx, b, "--max-sessions", limit); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, c.server.closeWithin(longestClose)) }()
	for _, size := range crowdSizes(b.sessions) {
		if !c.hasRoom(size) {
			break
		}
		if err := c.stepTo(ctx, size); err != nil {
			return fmt.Errorf("at %d sessions: %w", size, err)
		}
	}
	c.report(b, kernel)
	return nil
}

// crowdSizes are the powers of ten below most, and most.
func crowdSizes(most int) []int {
	var sizes []int
	for n := 1; n < most; n *= 10 {
		sizes = append(sizes, n)
	}
	return append(sizes, most)
}

// stepTo makes more sessions, asks all what they hold, and measures.
func (c *crowd) stepTo(ctx context.Context, size int) error {
	progress("  %d sessions", size)
	step, there := crowdStep{size: size}, len(c.ids)
	for len(c.ids) < size {
		if err := c.grow(); err != nil {
			return err
		}
	}
	step.creates = c.creates[there:]
	if err := c.server.awaitCopies(ctx); err != nil {
		return err
	}
	var err error
	if step.once, err = c.weigh(); err != nil {
		return err
	}
	for i := range c.ids {
		took, err := c.ask(i)
		if err != nil {
			return err
		}
		step.asked = append(step.asked, took)
	}
	if err := c.server.awaitCopies(ctx); err != nil {
		return err
	}
	if step.call, err = paced(manyCalls, func() (float64, error) { return c.server.sum(c.ids[0]) }); err != nil {
		return err
	}
	if err := c.server.awaitCopies(ctx); err != nil {
		return err
	}
	step.twice, err = c.weigh()
	c.steps = append(c.steps, step)
	return err
}

// hasRoom reports whether the machine has the memory for so many sessions, as
// the last step tells; a fifth of what is left stays free.
func (c *crowd) hasRoom(size int) bool {
	if len(c.steps) < 2 {
		return true
	}
	last := c.steps[len(c.steps)-1]
	each := last.twice.gone / float64(last.size)
	if needed := each * float64(size-last.size); needed > (c.before-last.twice.gone)*4/5 {
		progress("  %d sessions would need about %.1f GB more, which the machine has not", size, needed/1e9)
		return false
	}
	return true
}

// grow makes a session that has the usual imports and variables of its own.
func (c *crowd) grow() error {
	i := len(c.ids)
	began := time.Now()
	id, err := c.server.create()
	if err != nil {
		return err
	}
	code := fmt.Sprintf("%s\nx = %d\nitems = [x, 'of session %d']", readyCode, i, i)
	_, err = c.server.expect(id, code, warmAnswer)
	c.creates = append(c.creates, time.Since(began).Seconds())
	c.ids = append(c.ids, id)
	return err
}

// ask has a session tell its variables, which must be the ones it was given.
func (c *crowd) ask(i int) (float64, error) {
	r, err := c.server.expect(c.ids[i], "print(x, items)", fmt.Sprintf("%d [%d, 'of session %d']\n", i, i, i))
	return r.seconds, err
}

func (c *crowd) weigh() (w weight, err error) {
	if w.proportional, w.processes, err = familyMemory(c.server.cmd.Process.Pid); err != nil {
		return w, err
	}
	left, err := available()
	w.gone = c.before - left
	return w, err
}

// kernelPrivate is what one kernel with the usual imports has for its own.
func kernelPrivate(ctx context.Context, b *bench) (used float64, err error) {
	jupyter, err := startIPykernel(ctx, b)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, jupyter.close()) }()
	started, err := jupyter.ask(order{Do: "start", Transport: "tcp", Code: readyCode})
	if err != nil {
		return 0, err
	}
	return private(started.PID)
}

func (c *crowd) report(b *bench, kernel float64) {
	b.report.add(c.memoryTable(kernel))
	b.report.add(c.timeTable())
	last := c.steps[len(c.steps)-1]
	if last.size < mostSessions {
		return
	}
	for _, at := range []struct {
		name string
		weight
	}{{"each has run once", last.once}, {"each has run twice, and could undo that", last.twice}} {
		b.report.aim(target{
			count(last.size) + " live sessions, each with its variables, the server and all: " + at.name,
			"under " + size(wantedManyMemory, wantedManyMemory),
			fmt.Sprintf("%s (PSS), %s (drop of MemAvailable)", size(at.proportional, at.proportional), size(at.gone, at.gone)),
			max(at.proportional, at.gone) < wantedManyMemory,
		})
	}
}

func count(n int) string { return humanize.Comma(int64(n)) }

func sessionsOf(n int) string {
	if n == 1 {
		return "1 session"
	}
	return count(n) + " sessions"
}

func (c *crowd) memoryTable(kernel float64) table {
	t := table{
		title: "Memory of many sessions",
		note: "Each session has the usual imports and two variables. After its first call it has one copy, for a crash; " +
			"after the second, which asks for the variables, another one for an undo (`--history 0` keeps none). " +
			"Sessions of an earlier line have had their second call in both of a line's measurements. " +
			"Proportional (PSS): the sum over the server and all its processes, shared pages counted once. " +
			"MemAvailable: by how much the memory that the machine could give has dropped since before the server's start; " +
			"it has page tables and the kernel's own structures in it.",
		unit:  size,
		curve: c.memoryCurve(kernel),
	}
	for _, s := range c.largest() {
		for _, at := range []struct {
			calls string
			weight
		}{{"1 call", s.once}, {"2 calls", s.twice}} {
			name := fmt.Sprintf("%s, %s (%s processes)", sessionsOf(s.size), at.calls, count(at.processes))
			t.rows = append(t.rows,
				row{name: name + ": proportional", values: values{at.proportional}},
				row{name: name + ": drop of MemAvailable", values: values{at.gone}})
		}
	}
	return t
}

// largest are the steps that the tables show; the curves have all.
func (c *crowd) largest() []crowdStep { return c.steps[max(0, len(c.steps)-2):] }

func (c *crowd) timeTable() table {
	t := table{
		title: "Times with many sessions",
		note: fmt.Sprintf("\"Create\" is until the answer of the first call, which imports and assigns, of each session that was added since the line before; "+
			"\"ask\" asks every session for its variables, one after another; "+
			"\"warm call\" is `1+1` in one of them, the median of %d with pauses of %d ms.", manyCalls, pause.Milliseconds()),
		unit:  seconds,
		curve: c.createCurve(),
	}
	for _, s := range c.largest() {
		t.rows = append(t.rows,
			row{name: sessionsOf(s.size) + ": create", values: s.creates},
			row{name: sessionsOf(s.size) + ": ask", values: s.asked},
			row{name: sessionsOf(s.size) + ": warm call", values: values{s.call}})
	}
	return t
}

func (c *crowd) memoryCurve(kernel float64) *curve {
	once := line{Name: "understudy: 1 call each", Mark: true}
	twice := line{Name: "understudy: 2 calls each", Mark: true}
	kernels := line{Name: fmt.Sprintf("ipykernel: calculated, %s of private memory each", size(kernel, kernel)), Dashed: true}
	limit := line{Name: "the target: " + size(wantedManyMemory, wantedManyMemory), Dashed: true}
	for _, s := range c.steps {
		n := float64(s.size)
		once.add(n, max(s.once.gone, s.once.proportional)/1e9)
		twice.add(n, max(s.twice.gone, s.twice.proportional)/1e9)
		kernels.add(n, n*kernel/1e9)
		limit.add(n, wantedManyMemory/1e9)
	}
	return &curve{
		File: "bench-sessions-memory.svg", Title: "Memory by number of sessions",
		X: axis{"live sessions", true}, Y: axis{"memory (GB)", true},
		Lines: []line{once, twice, kernels, limit},
	}
}

// createCurve shows the median of a few sessions at a time, and their range.
func (c *crowd) createCurve() *curve {
	l := line{Name: fmt.Sprintf("median and range of %d sessions", createsTogether)}
	for first := 0; first < len(c.creates); first += createsTogether {
		some := c.creates[first:min(first+createsTogether, len(c.creates))]
		l.add(float64(first+len(some)), some.median()*1e3)
		l.Low, l.High = append(l.Low, some.least()*1e3), append(l.High, some.most()*1e3)
	}
	return &curve{
		File: "bench-sessions-create.svg", Title: "Time to a new session's first answer by number of sessions",
		X: axis{"live sessions", false}, Y: axis{"create and first answer (ms)", false},
		Lines: []line{l},
	}
}
