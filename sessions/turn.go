package sessions

import (
	"context"
	"slices"
	"sync"
	"time"
)

// turn lets one holder at a time through, in order of arrival, with at most
// limit waiting.
type turn struct {
	limit int

	mu      sync.Mutex
	held    bool
	waiting []chan struct{} // closed when its owner's turn has come
	// tidying is not nil while the holder's call is over and only our own
	// short work is left, as copying the worker; closed after that.
	tidying chan struct{}
}

// acquire waits for the turn until then, or until ctx ends. It reports false, without
// waiting, when too many wait already.
func (t *turn) acquire(ctx context.Context, until time.Time) (room bool, err error) {
	t.mu.Lock()
	if !t.held { // no timer for a call that waits for nobody
		t.held = true
		t.mu.Unlock()
		return true, nil
	}
	limit := t.limit
	if t.tidying != nil { // no call has the turn, so the first in the queue counts as its holder
		limit++
	}
	if len(t.waiting) >= limit {
		t.mu.Unlock()
		return false, nil
	}
	ctx, cancel := context.WithDeadline(ctx, until)
	defer cancel()
	return true, t.wait(ctx, len(t.waiting))
}

// tidy says that the holder's call is over. Who wants the turn waits for the
// rest however short of time: it is our work and not another call's.
func (t *turn) tidy() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.tidying = make(chan struct{})
}

// tidyIfFree takes the turn for our own work if nobody has it.
func (t *turn) tidyIfFree() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.held {
		return false
	}
	t.held, t.tidying = true, make(chan struct{})
	return true
}

// tidied returns what is closed when the holder's own work is done, nil when
// there is none.
func (t *turn) tidied() <-chan struct{} {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.tidying
}

// idle reports whether no call has the turn or waits for it.
func (t *turn) idle() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return len(t.waiting) == 0 && (!t.held || t.tidying != nil)
}

// claim waits for the turn ahead of everybody else and beyond the limit: what
// ends an interpreter must not wait for those who want to use it.
func (t *turn) claim(ctx context.Context) error {
	t.mu.Lock()
	return t.wait(ctx, 0)
}

// wait takes the turn, or that place in the queue until the turn comes or ctx
// ends. The caller holds mu, which wait lets go.
func (t *turn) wait(ctx context.Context, place int) error {
	if !t.held {
		t.held = true
		t.mu.Unlock()
		return nil
	}
	mine := make(chan struct{})
	t.waiting = slices.Insert(t.waiting, place, mine)
	tidying := t.tidying
	t.mu.Unlock()

	if tidying != nil {
		<-tidying
	}
	select {
	case <-mine: // even when ctx has ended meanwhile
		return nil
	default:
	}
	select {
	case <-mine:
		return nil
	case <-ctx.Done():
		return t.leave(mine, ctx.Err())
	}
}

// leave gives up the place in the queue. If the turn came at the same moment
// it is passed on.
func (t *turn) leave(mine chan struct{}, err error) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	for i, other := range t.waiting {
		if other == mine {
			t.waiting = append(t.waiting[:i], t.waiting[i+1:]...)
			return err
		}
	}
	t.pass()
	return err
}

// release gives the turn to the one who waits longest.
func (t *turn) release() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.pass()
	if t.tidying != nil {
		close(t.tidying)
		t.tidying = nil
	}
}

func (t *turn) pass() {
	if len(t.waiting) == 0 {
		t.held = false
		return
	}
	next := t.waiting[0]
	t.waiting = t.waiting[1:]
	close(next)
}

// queued returns how many wait.
func (t *turn) queued() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return len(t.waiting)
}
