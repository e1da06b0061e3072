package sessions

import (
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"understudy/internal/phrase"
)

// maxUncollected is how many finished executions a session keeps for callers
// that stopped waiting for them.
const maxUncollected = 16

// finished notes that e is over and waits to be collected.
func (s *Session) finished(e *execution) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.current = nil
	s.used = time.Now()
	s.uncollected = append(s.uncollected, e)
	over := max(0, len(s.uncollected)-maxUncollected)
	for _, late := range s.uncollected[:over] {
		if late.waiters == 0 {
			late.collect() // the history would keep it, and its files
		}
	}
	s.uncollected = s.uncollected[over:]
}

// collect hands out e's result if nobody has it yet.
func (s *Session) collect(e *execution) *Result {
	s.mu.Lock()
	s.uncollected = slices.DeleteFunc(s.uncollected, func(other *execution) bool { return other == e })
	undone := e.undone
	s.mu.Unlock()
	r := e.collect()
	if r != nil {
		r.Undone = undone
	}
	return r
}

// outdate notes that what the executions since one did to the variables is gone, for those
// whose answers nobody has: they were to be true as their code ended. Those whose own
// answers tell of the loss stay. The caller has the turn.
func (s *Session) outdate(since int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, e := range s.uncollected {
		e.undone = e.undone || e.number >= since && (e.died || !e.lostWorker)
	}
}

// pending returns the execution a wait is for, of the operator's or of the others:
// the oldest whose result nobody has, else the running one, else the oldest whose call was cancelled: it must
// not be taken for the one that runs. Nil if there is none. Its caller waits for
// it until leave.
func (s *Session) pending(operator bool) *execution {
	s.mu.Lock()
	defer s.mu.Unlock()
	e := s.current
	if e != nil && e.operator != operator {
		e = nil
	}
	if queue := s.queue(operator); len(queue) > 0 && (e == nil || !queue[0].abandoned.Load()) {
		e = queue[0]
	}
	if e != nil {
		e.waiters++
	}
	return e
}

// queue lists the finished executions whose results nobody has, of the operator's
// or of the others, in the order in which waits return them. The caller holds mu.
func (s *Session) queue(operator bool) []*execution {
	var queue, abandoned []*execution
	for _, e := range s.uncollected {
		switch {
		case e.operator != operator:
		case e.abandoned.Load():
			abandoned = append(abandoned, e)
		default:
			queue = append(queue, e)
		}
	}
	return append(queue, abandoned...)
}

// leaveExecution says that a caller waits for e no more.
func (s *Session) leaveExecution(e *execution) {
	s.mu.Lock()
	defer s.mu.Unlock()
	e.waiters--
}

// unfetched counts the results that nobody has and nobody waits for, but for the
// operator's. The caller holds mu.
func (s *Session) unfetched() int {
	n := 0
	for _, e := range s.uncollected {
		if e.waiters == 0 && !e.operator {
			n++
		}
	}
	return n
}

// head says of a result that a wait returns whose it is, if the reader could
// take it for another's.
func (s *Session) head(r *Result) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if r.Status.Runs() || r.Execution == s.count {
		return
	}
	r.AnswersWaiting = s.unfetched()
	r.Heading = fmt.Sprintf("This is the answer of execution %d", r.Execution)
	if n := r.AnswersWaiting; n > 0 {
		r.Heading += fmt.Sprintf("; %d more %s waiting", n, be(n))
	}
	if s.current != nil {
		r.Heading += fmt.Sprintf("; execution %d is running", s.current.number)
	}
	r.Heading += "."
}

// whoGets says how the output of e, which is done, reaches the agent.
func (s *Session) whoGets(e *execution) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch before := slices.Index(s.queue(e.operator), e); {
	case before < 0 || e.waiters > 0:
		return "The call that waits for it returns its output"
	case before == 0:
		return `Operation "wait" returns its output`
	default:
		return fmt.Sprintf(`Operation "wait" returns its output after that of %s`, phrase.Count(before, "other execution"))
	}
}

// overdue tells, once for each, of the executions but this one that have ended and whose
// answers nobody has or waits for.
func (s *Session) overdue(but *execution) (notes []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, e := range s.uncollected {
		if e == but || e.told || e.waiters > 0 || e.operator {
			continue
		}
		if note := e.unnoticed(); note != "" {
			e.told = true
			notes = append(notes, note)
		}
	}
	return notes
}

// unnoticed says how e ended, "" when it is not over yet. The caller holds the session's mu.
func (e *execution) unnoticed() string {
	r := e.outcome()
	switch {
	case r == nil:
		return ""
	case !e.died:
		return fmt.Sprintf("execution %d has ended (%s) and its answer was not fetched; operation \"wait\" returns it", e.number, r.Status)
	}
	since := "after it had been answered as running"
	if e.abandoned.Load() {
		since = "after its call had been cancelled"
	}
	if !e.undone {
		since += "; " + r.remainder()
	}
	return fmt.Sprintf("execution %d %s %s. Operation \"wait\" returns its answer", e.number, r.death(), since)
}

// death says how an execution ended that lost its process.
func (r *Result) death() string {
	switch r.Status {
	case StatusTimeout:
		return "had to be killed at its time limit"
	case StatusInterrupted:
		return "was interrupted and lost its process"
	default:
		return "crashed"
	}
}

// remainder says in a clause what a death left of the variables.
func (r *Result) remainder() string {
	switch {
	case r.StateRestored != nil && *r.StateRestored:
		return "its changes are undone"
	case r.StateBefore > 0:
		return fmt.Sprintf("the variables are as they were before execution %d", r.StateBefore)
	default:
		return "the variables are lost"
	}
}

// errPrinted says that nothing runs, but something was printed since the last execution.
var errPrinted = errors.New("there is output of the time between the calls")

// printedBetween is the record of what was printed since the last execution.
func (s *Session) printedBetween() *Result {
	s.mu.Lock()
	defer s.mu.Unlock()
	r := &Result{
		InterpreterID: s.name, Execution: s.count, Status: StatusOK, Success: true,
		Heading: fmt.Sprintf("Nothing is running; this was printed since execution %d.", s.count),
	}
	if s.worker != nil {
		r.Between = s.options.output().Interleave(s.worker.Between())
	}
	return r
}

// progressEvery is how often a waiting caller hears of its execution.
const progressEvery = time.Second

// watch tells a waiting caller how its call stands, until end.
type watch struct {
	execution atomic.Pointer[execution] // nil while the call is queued
	stop      chan struct{}
	running   sync.WaitGroup
	began     time.Time
	phase     func() string // what the start of an interpreter waits for
}

// newWatch starts telling report, which may be nil.
func (m *Manager) newWatch(report func(Progress)) *watch {
	w := &watch{stop: make(chan struct{}), began: time.Now(), phase: m.options.waiting}
	if report != nil {
		w.running.Go(func() { w.tell(report) })
	}
	return w
}

// follow says that the call's turn has come.
func (w *watch) follow(e *execution) { w.execution.Store(e) }

// end returns when report will not be called any more.
func (w *watch) end() {
	close(w.stop)
	w.running.Wait()
}

func (w *watch) tell(report func(Progress)) {
	tick := time.NewTicker(progressEvery)
	defer tick.Stop()
	for {
		select {
		case <-w.stop:
			return
		case <-tick.C:
			report(w.progress())
		}
	}
}

func (w *watch) progress() Progress {
	if e := w.execution.Load(); e != nil {
		return e.progress()
	}
	return Progress{Elapsed: time.Since(w.began), Queued: true, Phase: w.phase()}
}
