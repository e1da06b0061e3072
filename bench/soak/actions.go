package main

import "context"

// action is something that a session does or suffers. Afterwards all its
// variables are read back.
type action struct {
	weight int
	fits   func(*session) bool
	do     func(*session, context.Context) error
}

// actions returns all of them; calls_*.go and killing.go say what they are.
func actions() []action {
	return []action{
		{60, always, (*session).work},
		{4, always, (*session).workAfterReset},
		{4, always, (*session).raise},
		{2, always, (*session).printMuch},
		{1, hasMatplotlib, (*session).show},
		{4, always, (*session).crowd},

		{24, always, (*session).die},
		{3, always, (*session).dieInFlood},
		{6, canStartChildren, (*session).dieWithChild},
		{2, canStartChildren, (*session).startChild},
		{3, canStartThread, (*session).startThread},
		{4, hasThread, (*session).endThread},

		{2, canBeStopped, (*session).exceed},
		{2, always, (*session).hang},
		{4, canBeStopped, (*session).interrupt},
		{3, canBeStopped, (*session).cancel},
		{3, always, (*session).awaitLong},
		{2, always, (*session).findBusy},
		{3, canStartThread, (*session).leaveUnfetched},

		{6, always, (*session).branch},
		{8, always, (*session).undo},
		{2, always, (*session).restart},

		{5, hasRun, (*session).killIdle},
		{4, hasRun, (*session).killJustAfter},
		{5, always, (*session).killRunning},
		{3, always, (*session).killSometime},
		{1, always, (*session).killFlood},
		{4, hasUnderstudies, (*session).killUnderstudies},
		{3, hasUnderstudies, (*session).killUnderstudiesInCall},
	}
}

func always(*session) bool { return true }

func hasMatplotlib(s *session) bool { return s.has.matplotlib }

func hasRun(s *session) bool { return !s.model.now.fresh }

// hasUnderstudies reports whether the lead's children are understudies, and
// there is one.
func hasUnderstudies(s *session) bool { return hasRun(s) && s.model.recoverable() && !hasChild(s) }

func hasThread(s *session) bool { return s.model.now.obstacle() != "" }

func hasChild(s *session) bool {
	c, ok := s.model.now.variables[childName].(child)
	return ok && c.code == nil
}

func canStartChildren(s *session) bool { return !hasChild(s) }

func canStartThread(s *session) bool { return !hasThread(s) }

// canBeStopped is false with a child process: it gets SIGINT too, and what that
// makes of it is its own business.
func canBeStopped(s *session) bool { return !hasChild(s) }

// act does one action and reads all back.
func (s *session) act(ctx context.Context) error {
	a := s.choose()
	if err := a.do(s, ctx); err != nil {
		return s.blame(err)
	}
	return s.blame(s.check(ctx))
}

func (s *session) choose() action {
	total := 0
	var fitting []action
	for _, a := range actions() {
		if a.fits(s) {
			total += a.weight
			fitting = append(fitting, a)
		}
	}
	at := s.random.IntN(total)
	for _, a := range fitting {
		if at -= a.weight; at < 0 {
			return a
		}
	}
	panic("the weights do not add up")
}
