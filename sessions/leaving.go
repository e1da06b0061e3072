package sessions

import "time"

const (
	// quickTime is how long an execution takes at most that counts as quick. It
	// bounds the memory that copies hold which go later: what can be written in
	// that time, so many times.
	quickTime = 10 * time.Millisecond
	// quietTime is how long no execution must end until they go, and
	// mostLeaving how many there may be at most.
	quietTime   = 100 * time.Millisecond
	mostLeaving = 8
)

// leaving are copies that nobody wants any more. To end a process takes the
// kernel about as long as to make one, and while it does the worker's next
// copy, and its first writes after that, wait for it. In a fast sequence of
// executions that is put off until a quiet moment.
type leaving struct {
	copies []checkpoint
	timer  *time.Timer
}

// add puts a copy's dismissal off; late is called when the moment has come.
func (l *leaving) add(c checkpoint, late func()) {
	if c.understudy == nil {
		return
	}
	if len(l.copies) == mostLeaving {
		l.dismiss()
	}
	l.copies = append(l.copies, c)
	if l.timer == nil {
		l.timer = time.AfterFunc(quietTime, late)
	} else {
		l.timer.Reset(quietTime)
	}
}

// dismiss dismisses all.
func (l *leaving) dismiss() {
	for _, c := range l.copies {
		c.dismiss()
	}
	l.copies = nil
	if l.timer != nil {
		l.timer.Stop()
	}
}
