package sessions

import (
	"fmt"
	"slices"
	"sync"
)

// checkpoint is one state of a session: as an execution left it.
type checkpoint struct {
	after      int        // that execution; the last one before the state began, if none ran in it
	in         string     // the interpreter in which it ran: a branch begins with another's state
	understudy Understudy // holds the state; nil when none does
	pristine   bool       // nothing ran: a fresh start gives the same state
	due        bool       // its copy has yet to be made, before anything else runs
	putOff     bool       // its copy waits for a moment in which nobody calls; the next execution gives it up
	resting    bool       // it is due, as the one before was let go while nobody called
	reason     string     // a clause: why there is no copy
}

// obstacle says in a clause why the state can't be brought back, "" when it can.
func (c checkpoint) obstacle() string {
	switch {
	case c.pristine:
		return ""
	case c.resting:
		return "while it is idle no copy of them is kept (--copy-idle)"
	case c.due:
		return "their copy is still being made"
	case c.putOff:
		return "calls came faster than copies are made (--copy-share)"
	case c.understudy == nil:
		return c.reason
	case hasExited(c.understudy):
		return "the process that held their copy was ended from outside"
	}
	return ""
}

func (c checkpoint) place() Place {
	if c.pristine {
		return Place{}
	}
	return Place{InterpreterID: c.in, Execution: c.after}
}

func (c checkpoint) dismiss() {
	if c.understudy != nil {
		c.understudy.Dismiss()
	}
}

// hasExited reports whether the process of a worker or of a copy has ended.
func hasExited(process interface{ Exited() <-chan struct{} }) bool {
	select {
	case <-process.Exited():
		return true
	default:
		return false
	}
}

// checkpoints are the states that a session can go back to. Who has the turn
// changes them; anybody may read them.
type checkpoints struct {
	mu      sync.Mutex
	id      string       // of the interpreter
	present checkpoint   // the state as it is now
	past    []checkpoint // older ones, the newest last
	trimmed bool         // older ones were let go for want of history
	bereft  bool         // the states before the oldest were lost in a crash
	ended   bool         // nothing is kept any more
	last    Place        // the present state when it ended
	// names are those of variables in the present state, with the executions that gave
	// them: not all of them, see define.
	names map[string]int
}

// startAfresh lets go of all states: nothing has run since execution after.
func (c *checkpoints) startAfresh(after int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.ended {
		return
	}
	c.dismissAll()
	c.present, c.past = checkpoint{after: after, pristine: true}, nil
	c.names = nil
	c.trimmed, c.bereft = false, false
}

// bereave notes that the fresh start was for a loss.
func (c *checkpoints) bereave() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.bereft = true
}

// end lets go of all states for good.
func (c *checkpoints) end() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.ended {
		return
	}
	c.last = c.present.place()
	c.ended = true
	c.dismissAll()
	c.present, c.past = checkpoint{reason: "the interpreter has ended"}, nil
}

func (c *checkpoints) dismissAll() {
	c.present.dismiss()
	for _, older := range c.past {
		older.dismiss()
	}
}

// inherit begins a branch: its state is its parent's.
func (c *checkpoints) inherit(parent *checkpoints) {
	place, names := parent.place(), parent.defined()
	c.mu.Lock()
	defer c.mu.Unlock()
	c.names = names
	c.present = checkpoint{after: place.Execution, in: place.InterpreterID, due: true}
}

// place names the present state, of an interpreter that has ended the last one.
func (c *checkpoints) place() Place {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.ended {
		return c.last
	}
	return c.present.place()
}

// advance notes that an execution has changed the state.
func (c *checkpoints) advance(execution int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.ended {
		c.past = append(c.past, c.present)
		c.present = checkpoint{after: execution, in: c.id, due: true}
	}
}

// wanting reports whether the present state needs a copy that it hasn't: a new one, or
// one in the place of one that died, its own or the one that stood in.
func (c *checkpoints) wanting() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	p := c.present
	died := p.understudy != nil && hasExited(p.understudy) || p.putOff && !c.hasStandIn()
	return !c.ended && !p.pristine && (p.due || died)
}

// put keeps a copy of the present state, or the reason why there is none.
func (c *checkpoints) put(u Understudy, reason string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.ended {
		checkpoint{understudy: u}.dismiss()
		return
	}
	c.present.dismiss()
	c.present = checkpoint{after: c.present.after, in: c.present.in, understudy: u, reason: reason}
}

// trim lets go of what is older than history allows, which doesn't count states whose
// copy was put off until it was too late. Those of a burst keep the one before it.
func (c *checkpoints) trim(history int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.present.putOff {
		return
	}
	excess := len(c.past)
	for kept := 0; excess > 0 && kept < history; {
		if excess--; !c.past[excess].putOff {
			kept++
		}
	}
	if excess == 0 {
		return
	}
	for _, oldest := range c.past[:excess] {
		oldest.dismiss()
	}
	c.past = slices.Delete(c.past, 0, excess)
	c.trimmed = true
}

// takePresent hands out the copy of the present state, to be woken; another is
// due then. Without a copy it says why.
func (c *checkpoints) takePresent() (u Understudy, pristine bool, obstacle string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	p := c.present
	if obstacle := p.obstacle(); obstacle != "" || p.pristine {
		return nil, p.pristine, obstacle
	}
	c.present = checkpoint{after: p.after, in: p.in, due: true}
	return p.understudy, false, ""
}

// older finds the newest of the past states that has a copy, -1 if none has,
// and lists the executions that were after it. The caller holds mu.
func (c *checkpoints) older() (place int, since []int) {
	since = []int{c.present.after}
	for i, earlier := range slices.Backward(c.past) {
		if earlier.pristine {
			break
		}
		if earlier.obstacle() == "" {
			return i, since
		}
		since = append([]int{earlier.after}, since...)
	}
	return -1, nil
}

// takeOlder makes the newest past state that has a copy the present one, and
// hands out its copy, to be woken; another is due then. since are the
// executions whose states are let go. u is nil when there is none.
func (c *checkpoints) takeOlder() (u Understudy, since []int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	place, since := c.older()
	if c.ended || place < 0 {
		return nil, nil
	}
	c.present.dismiss()
	for _, later := range c.past[place+1:] {
		later.dismiss()
	}
	chosen := c.past[place]
	c.past = c.past[:place]
	c.present = checkpoint{after: chosen.after, in: chosen.in, due: true}
	c.undefine()
	return chosen.understudy, since
}

// prospect says in a clause what the next run will find if the worker is dead.
// none is why nothing can be copied here, if so.
func (c *checkpoints) prospect(none string) string {
	c.mu.Lock()
	defer c.mu.Unlock()
	obstacle := c.present.obstacle()
	if none != "" {
		obstacle = none
	}
	switch place, since := c.older(); {
	case obstacle == "" && c.present.pristine:
		return "the next run starts another"
	case obstacle == "":
		return "the next run brings its variables back"
	case place >= 0:
		return fmt.Sprintf("the next run brings its variables back as they were before execution %d; %s lost: %s", since[0], executions(since), obstacle)
	default:
		return "its variables are lost: " + obstacle
	}
}

// takeEarlier hands out the state before the present one; its place is kept
// until stepBack, with the reason why it can't be had once more. ok is false
// when there is none that could be brought back.
func (c *checkpoints) takeEarlier() (earlier checkpoint, ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	last := len(c.past) - 1
	if last < 0 || c.past[last].obstacle() != "" {
		return checkpoint{}, false
	}
	earlier = c.past[last]
	if !earlier.pristine {
		c.past[last] = checkpoint{after: earlier.after, in: earlier.in, reason: "its copy did not wake"}
	}
	return earlier, true
}

// stepBack makes the state before the present one the present.
func (c *checkpoints) stepBack() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.ended {
		return
	}
	c.present.dismiss()
	last := len(c.past) - 1
	earlier := c.past[last]
	c.past = c.past[:last]
	c.present = checkpoint{after: earlier.after, in: earlier.in, pristine: earlier.pristine, due: !earlier.pristine}
	c.undefine()
}

// refusal says in a sentence, without its full stop, why nothing can be undone.
type refusal struct {
	text    string
	nothing bool // there is nothing to undo, so that no advice is due
}

// undoable lists the executions that can be undone one after the other, the
// latest first, and says why there is none.
func (c *checkpoints) undoable(history int) ([]int, refusal) {
	c.mu.Lock()
	defer c.mu.Unlock()
	var executions []int
	latest, obstacle := c.present.after, ""
	for _, earlier := range slices.Backward(c.past) {
		if obstacle = earlier.obstacle(); obstacle != "" {
			break
		}
		executions = append(executions, latest)
		latest = earlier.after
	}
	switch {
	case len(executions) > 0:
		return executions, refusal{}
	case obstacle != "":
		text := fmt.Sprintf("execution %d can't be undone: the variables as they were before it can't be brought back: %s", latest, obstacle)
		if nearest, _ := c.older(); nearest >= 0 {
			text += fmt.Sprintf("; the nearest state that is kept is that after execution %d", c.past[nearest].after)
		}
		return nil, refusal{text: text}
	case c.trimmed && history == 0:
		return nil, refusal{text: "there is no earlier state to undo to (--history is 0)"}
	case c.trimmed:
		return nil, refusal{text: fmt.Sprintf("there is no earlier state to undo to (--history keeps %d)", history)}
	case c.bereft:
		return nil, refusal{text: "nothing to undo: the interpreter was started afresh after a crash", nothing: true}
	default:
		return nil, refusal{text: "nothing to undo: nothing has run since the interpreter was made, branched or started afresh", nothing: true}
	}
}

// now is the present state.
func (c *checkpoints) now() checkpoint {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.present
}

// understudies returns all copies that live.
func (c *checkpoints) understudies() []Understudy {
	c.mu.Lock()
	defer c.mu.Unlock()
	var all []Understudy
	for _, kept := range append(slices.Clone(c.past), c.present) {
		if kept.understudy != nil && !hasExited(kept.understudy) {
			all = append(all, kept.understudy)
		}
	}
	return all
}
