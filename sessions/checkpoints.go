package sessions

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
)

// keeping says how a state is kept.
type keeping int

const (
	notKept  keeping = iota // for a reason
	copied                  // by an understudy
	pristine                // nothing ran: a fresh start gives the same state
	due                     // its copy has yet to be made, before anything else runs
	resting                 // likewise, as the one before was let go while nobody called
	putOff                  // its copy waits for a moment in which nobody calls; the next execution gives it up
)

// checkpoint is one state of a session: as an execution left it.
type checkpoint struct {
	after      int    // that execution; the last one before the state began, if none ran in it
	in         string // the interpreter in which it ran: a branch begins with another's state
	kept       keeping
	understudy Understudy
	reason     string // a clause: why it is not kept
}

// obstacle says in a clause why the state can't be brought back, "" when it can.
func (c checkpoint) obstacle() string {
	switch {
	case c.kept == notKept:
		return c.reason
	case c.kept == resting:
		return "while it is idle no copy of them is kept (--copy-idle)"
	case c.kept == due:
		return "their copy is still being made"
	case c.kept == putOff:
		return "calls came faster than copies are made (--copy-share)"
	case c.hasDied():
		return "the process that held their copy was ended from outside"
	}
	return ""
}

// hasDied reports whether its copy has.
func (c checkpoint) hasDied() bool { return c.kept == copied && hasExited(c.understudy) }

func (c checkpoint) ref() StateRef {
	if c.kept == pristine {
		return StateRef{}
	}
	return StateRef{InterpreterID: c.in, Execution: c.after}
}

// as is the same state, kept in another way.
func (c checkpoint) as(kept keeping) checkpoint {
	return checkpoint{after: c.after, in: c.in, kept: kept}
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

// dismiss ends the copies of states.
func dismiss(states ...checkpoint) {
	for _, c := range states {
		if c.understudy != nil {
			c.understudy.Dismiss()
		}
	}
}

// checkpoints are the states that a session can go back to. Who has the turn
// changes them; anybody may read them.
type checkpoints struct {
	mu      sync.Mutex
	id      string       // of the interpreter
	all     []checkpoint // the newest last: that is the present one
	trimmed bool         // older ones were let go for want of history
	lost    bool         // the states before the oldest were lost in a crash
	ended   bool         // nothing is kept any more
	last    StateRef     // the present state when it ended
	// names are those of variables in the present state, with the executions that gave
	// them: not all of them, see define.
	names map[string]int
}

// present is for callers that hold mu.
func (c *checkpoints) present() *checkpoint { return &c.all[len(c.all)-1] }

// startAfresh lets go of all states: nothing has run since execution after.
func (c *checkpoints) startAfresh(after int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.ended {
		return
	}
	dismiss(c.all...)
	c.all = []checkpoint{{after: after, kept: pristine}}
	c.names, c.trimmed, c.lost = nil, false, false
}

// markStateLost notes that the fresh start was for a loss.
func (c *checkpoints) markStateLost() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.lost = true
}

// end lets go of all states for good.
func (c *checkpoints) end() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.ended {
		return
	}
	c.last, c.ended = c.present().ref(), true
	dismiss(c.all...)
	c.all = []checkpoint{{reason: "the interpreter has ended"}}
}

// inherit begins a branch: its state is its parent's.
func (c *checkpoints) inherit(parent *checkpoints) {
	place, names := parent.ref(), parent.defined()
	c.mu.Lock()
	defer c.mu.Unlock()
	c.names = names
	*c.present() = checkpoint{after: place.Execution, in: place.InterpreterID, kept: due}
}

// ref names the present state, of an interpreter that has ended the last one.
func (c *checkpoints) ref() StateRef {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.ended {
		return c.last
	}
	return c.present().ref()
}

// now is the present state.
func (c *checkpoints) now() checkpoint {
	c.mu.Lock()
	defer c.mu.Unlock()
	return *c.present()
}

// advance notes that an execution has changed the state.
func (c *checkpoints) advance(execution int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.ended {
		c.all = append(c.all, checkpoint{after: execution, in: c.id, kept: due})
	}
}

// wanting reports whether the present state needs a copy that it hasn't: a new one, or
// one in the place of one that died, its own or the one that stood in.
func (c *checkpoints) wanting() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	p := c.present()
	return p.kept == due || p.kept == resting || p.hasDied() || p.kept == putOff && !c.hasStandIn()
}

// put keeps a copy of the present state, or the reason why there is none.
func (c *checkpoints) put(u Understudy, reason string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	now := c.present().as(copied)
	if now.understudy, now.reason = u, reason; u == nil {
		now.kept = notKept
	}
	if c.ended {
		dismiss(now)
		return
	}
	dismiss(*c.present())
	*c.present() = now
}

// putOff has the copy that is due wait for a moment in which nobody calls. It does
// nothing, and reports false, unless the copy before it stands in meanwhile.
func (c *checkpoints) putOff() bool { return c.change(due, putOff) }

// takeUp makes the copy due that was put off, and reports whether there is one.
func (c *checkpoints) takeUp() bool { return c.change(putOff, due) }

func (c *checkpoints) change(from, to keeping) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.present().kept != from || to == putOff && !c.hasStandIn() {
		return false
	}
	c.present().kept = to
	return true
}

// hasStandIn reports whether there is a copy of the newest past state that was to get
// one. The caller holds mu.
func (c *checkpoints) hasStandIn() bool {
	for _, earlier := range slices.Backward(c.all[:len(c.all)-1]) {
		if earlier.kept != putOff {
			return earlier.kept == copied && !earlier.hasDied()
		}
	}
	return false
}

// rest lets go of the copy of the present state. Another is due, before anything runs.
func (c *checkpoints) rest() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if p := c.present(); p.kept == copied {
		dismiss(*p)
		*p = p.as(resting)
	}
}

// trim lets go of what is older than history allows, which doesn't count states whose
// copy was put off until it was too late. Those of a burst keep the one before it.
func (c *checkpoints) trim(history int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.present().kept == putOff {
		return
	}
	excess := len(c.all) - 1
	for kept := 0; excess > 0 && kept < history; {
		if excess--; c.all[excess].kept != putOff {
			kept++
		}
	}
	if excess > 0 {
		dismiss(c.all[:excess]...)
		c.all, c.trimmed = slices.Delete(c.all, 0, excess), true
	}
}

// newest finds the newest state that can be brought back, the present one or one before
// it, -1 if none can: a fresh start gives the present one alone. lost are the executions
// after it, and obstacle says why not theirs. The caller holds mu.
func (c *checkpoints) newest() (place int, lost []int, obstacle string) {
	for i, state := range slices.Backward(c.all) {
		reason := state.obstacle()
		if reason == "" && (state.kept == copied || lost == nil) {
			return i, lost, obstacle
		}
		if reason == "" {
			break
		}
		lost, obstacle = append([]int{state.after}, lost...), cmp.Or(obstacle, reason)
	}
	return -1, nil, obstacle
}

// takeNewest makes the newest state that can be brought back the present one, and hands out
// its copy, to be woken; another is due then. Without a copy a fresh start is all there is:
// it gives the present state if nothing is the matter with that, and else obstacle says why
// it is lost.
func (c *checkpoints) takeNewest() (u Understudy, lost []int, obstacle string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	place, lost, obstacle := c.newest()
	if place < 0 || c.all[place].kept == pristine {
		return nil, nil, obstacle
	}
	dismiss(c.all[place+1:]...)
	c.all = c.all[:place+1]
	u = c.present().understudy
	*c.present() = c.present().as(due)
	c.undefine()
	return u, lost, obstacle
}

// prospect says in a clause what the next run will find if the worker is dead.
// none is why nothing can be copied here, if so.
func (c *checkpoints) prospect(none string) string {
	c.mu.Lock()
	defer c.mu.Unlock()
	place, lost, obstacle := c.newest()
	switch {
	case none != "" || place < 0:
		return "its variables are lost: " + cmp.Or(none, obstacle)
	case len(lost) > 0:
		return fmt.Sprintf("the next run brings its variables back as they were before execution %d; %s lost: %s", lost[0], executions(lost), obstacle)
	case c.all[place].kept == pristine:
		return "the next run starts another"
	}
	return "the next run brings its variables back"
}

// takeEarlier hands out the state before the present one; its place is kept
// until stepBack, with the reason why it can't be had once more. ok is false
// when there is none that could be brought back.
func (c *checkpoints) takeEarlier() (earlier checkpoint, ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	i := len(c.all) - 2
	if i < 0 || c.all[i].obstacle() != "" {
		return checkpoint{}, false
	}
	earlier = c.all[i]
	if earlier.kept != pristine {
		c.all[i] = earlier.as(notKept)
		c.all[i].reason = "its copy did not wake"
	}
	return earlier, true
}

// stepBack makes the state before the present one the present; a copy of it is due.
func (c *checkpoints) stepBack() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.ended {
		return
	}
	dismiss(*c.present())
	c.all = c.all[:len(c.all)-1]
	*c.present() = c.present().as(due)
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
	latest, obstacle := c.present().after, ""
	for _, earlier := range slices.Backward(c.all[:len(c.all)-1]) {
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
		return nil, refusal{text: fmt.Sprintf("execution %d can't be undone: the variables as they were before it can't be brought back: %s%s", latest, obstacle, c.nearest())}
	case c.trimmed && history == 0:
		return nil, refusal{text: "there is no earlier state to undo to (--history is 0)"}
	case c.trimmed:
		return nil, refusal{text: fmt.Sprintf("there is no earlier state to undo to (--history keeps %d)", history)}
	case c.lost:
		return nil, refusal{text: "nothing to undo: the interpreter was started afresh after a crash", nothing: true}
	}
	return nil, refusal{text: "nothing to undo: nothing has run since the interpreter was made, branched or started afresh", nothing: true}
}

// nearest names the newest past state that is kept, "" if none is.
func (c *checkpoints) nearest() string {
	for _, earlier := range slices.Backward(c.all[:len(c.all)-1]) {
		if earlier.kept == copied && !earlier.hasDied() {
			return fmt.Sprintf("; the nearest state that is kept is that after execution %d", earlier.after)
		}
	}
	return ""
}

// understudies returns all copies that live.
func (c *checkpoints) understudies() []Understudy {
	c.mu.Lock()
	defer c.mu.Unlock()
	var all []Understudy
	for _, state := range c.all {
		if state.kept == copied && !state.hasDied() {
			all = append(all, state.understudy)
		}
	}
	return all
}

const (
	// mostDefined and longestDefined bound which names are remembered of a session's
	// variables, the latter in bytes.
	mostDefined    = 2000
	longestDefined = 100
)

// define remembers which names an execution has given to variables and which it has
// taken away. advance comes first.
func (c *checkpoints) define(execution int, d VariableDiff) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, name := range d.Removed {
		delete(c.names, name)
	}
	for _, name := range d.Added {
		if len(name) > longestDefined || len(c.names) >= mostDefined {
			continue
		}
		if c.names == nil {
			c.names = map[string]int{}
		}
		c.names[name] = execution
	}
}

// defined are the names that a branch begins with.
func (c *checkpoints) defined() map[string]int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return maps.Clone(c.names)
}

// undefine forgets the names that are not in the present state, which is an older one
// now. A name that was taken away after it is not remembered again. The caller holds mu.
func (c *checkpoints) undefine() {
	maps.DeleteFunc(c.names, func(_ string, by int) bool { return by > c.present().after })
}

// defines reports whether the present state is known to have a variable of that name.
func (c *checkpoints) defines(name string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return !c.ended && c.names[name] > 0
}

const (
	// mostOthers is how many interpreters a hint names.
	mostOthers = 3
)

// noteWhereDefined adds to the result of a run that missed a name which of the client's other
// sessions, or of its process's, has it: agents that use several lose count, and a client that connects anew
// for each call gets another one.
func (m *Manager) noteWhereDefined(ctx context.Context, client Client, s *Session, r *Result) {
	if r.ExcType != "NameError" || r.ExcInfo == nil || r.ExcInfo.Name == "" {
		return
	}
	var others []string
	for _, other := range slices.Backward(m.akin(ctx, client)) {
		if other != s && other.states.defines(r.ExcInfo.Name) && len(others) < mostOthers {
			others = append(others, other.name)
		}
	}
	if len(others) > 0 {
		r.note(fmt.Sprintf("%s is defined in interpreter %s; pass interpreter_id %q to use it", r.ExcInfo.Name, strings.Join(others, " and in "), others[0]))
	}
}
