package sessions

import "time"

const (
	// quickTime is how long an execution takes at most that counts as quick. It
	// bounds the memory that copies hold which go later: what can be written in
	// that time, so many times.
	quickTime = 10 * time.Millisecond
	// quietTime is how long no execution must end until they go, and
	// mostDismissals how many there may be at most.
	quietTime      = 100 * time.Millisecond
	mostDismissals = 8
)

// dismissals are copies that nobody wants any more. To end a process takes the
// kernel about as long as to make one, and while it does the worker's next
// copy, and its first writes after that, wait for it. In a fast sequence of
// executions that is put off until a quiet moment.
type dismissals struct {
	copies []checkpoint
	timer  *time.Timer
}

// add puts a copy's dismissal off; late is called when the moment has come.
func (d *dismissals) add(c checkpoint, late func()) {
	if c.understudy == nil {
		return
	}
	if len(d.copies) == mostDismissals {
		d.dismiss()
	}
	d.copies = append(d.copies, c)
	if d.timer == nil {
		d.timer = time.AfterFunc(quietTime, late)
	} else {
		d.timer.Reset(quietTime)
	}
}

// dismiss dismisses all.
func (d *dismissals) dismiss() {
	for _, c := range d.copies {
		c.dismiss()
	}
	d.copies = nil
	if d.timer != nil {
		d.timer.Stop()
	}
}
