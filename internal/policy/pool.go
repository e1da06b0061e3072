package policy

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"
)

// pool keeps checkers. Each is asked by one caller at a time; one that has served
// well waits for the next.
type pool struct {
	start func(context.Context) (Process, error)
	log   *slog.Logger
	limit time.Duration // of one check
	wait  time.Duration // for a slot
	slots chan struct{} // one for each check that may run

	mu     sync.Mutex
	idle   []*checker // the one that served last at the end
	busy   map[*checker]bool
	closed bool
}

// errBusy is the error of a check for which no checker had time.
var errBusy = errors.New("all checkers of code are busy")

// patience is how many times the limit of one check others wait for their turn.
const patience = 4

// errClosed is the error of a check after close.
var errClosed = errors.New("the server is stopping")

// startError says that no checker could be started: there is no Python, for one.
type startError struct{ err error }

func (e *startError) Error() string { return e.err.Error() }

func (e *startError) Unwrap() error { return e.err }

// large is the code, in bytes, after which a checker makes room for a fresh one:
// Python does not give all the memory back that the tree of so much took.
const large = 256 << 10

func newPool(start func(context.Context) (Process, error), size int, limit time.Duration, log *slog.Logger) *pool {
	return &pool{start: start, log: log, limit: limit, wait: patience * limit, slots: make(chan struct{}, size), busy: map[*checker]bool{}}
}

// ask has a checker answer. It waits a while for one, as long as ctx allows.
func (p *pool) ask(ctx context.Context, q question) (verdict, error) {
	waiting, cancel := context.WithTimeoutCause(ctx, p.wait, errBusy)
	defer cancel()
	select {
	case p.slots <- struct{}{}:
		defer func() { <-p.slots }()
	case <-waiting.Done():
		return verdict{}, context.Cause(waiting)
	}
	c, err := p.waiting()
	if err != nil {
		return verdict{}, err
	}
	if c != nil {
		v, err := p.put(ctx, c, q)
		if !errors.Is(err, errDied) {
			return v, err
		}
		// It may have died of something else, before it was asked.
	}
	if c, err = p.fresh(ctx); err != nil {
		return verdict{}, err
	}
	return p.put(ctx, c, q)
}

// put puts the question to a checker that was taken, and gives it back.
func (p *pool) put(ctx context.Context, c *checker, q question) (verdict, error) {
	v, err := c.ask(ctx, q, p.limit)
	closed := p.release(c, err == nil && len(q.Code) <= large)
	switch {
	case err == nil:
		return v, nil
	case closed:
		return verdict{}, errClosed
	}
	p.log.Warn("code could not be checked", "error", err, "bytes", len(q.Code), "stderr", c.process.LastWords())
	return verdict{}, err
}

// fresh starts a checker and takes it.
func (p *pool) fresh(ctx context.Context) (*checker, error) {
	process, err := p.start(ctx)
	if err != nil {
		return nil, &startError{err}
	}
	c := newChecker(process)
	p.mu.Lock()
	closed := p.closed
	p.busy[c] = true
	p.mu.Unlock()
	if closed {
		p.release(c, false)
		return nil, errClosed
	}
	return c, nil
}

// waiting takes an idle checker, nil if there is none.
func (p *pool) waiting() (*checker, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return nil, errClosed
	}
	for n := len(p.idle); n > 0; n = len(p.idle) {
		c := p.idle[n-1]
		p.idle = p.idle[:n-1]
		if c.alive() {
			p.busy[c] = true
			return c, nil
		}
		p.log.Warn("a checker of code has died while it was idle", "stderr", c.process.LastWords())
	}
	return nil, nil
}

// release gives a checker back that can go on, and ends any other. It reports
// whether the pool is closed.
func (p *pool) release(c *checker, good bool) (closed bool) {
	p.mu.Lock()
	delete(p.busy, c)
	closed = p.closed
	keep := good && !closed
	if keep {
		p.idle = append(p.idle, c)
	}
	p.mu.Unlock()
	if !keep {
		c.process.Kill()
	}
	return closed
}

// close ends all checkers.
func (p *pool) close() {
	p.mu.Lock()
	p.closed = true
	idle, busy := p.idle, p.busy
	p.idle, p.busy = nil, map[*checker]bool{}
	p.mu.Unlock()
	for c := range busy {
		c.process.Kill()
	}
	var ending sync.WaitGroup
	for _, c := range idle {
		ending.Go(func() { _ = c.process.Close() })
	}
	ending.Wait()
}
