package worker

import (
	"sync"
	"time"
)

const (
	// lossRecent is how long a spare has to live for its end not to be laid to
	// its beginning.
	lossRecent = 10 * time.Second
	// lossPause is how long after the first loss the next spare is forked. With
	// each further one it doubles, up to lossLongest.
	lossPause   = 10 * time.Millisecond
	lossLongest = 30 * time.Second
	// lossTold is how many losses in a row the operator is told of.
	lossTold = 3
)

// losses are spares of one zygote that died soon after their fork, before
// anybody took them: a preloaded module may end each of its forks.
type losses struct {
	mu     sync.Mutex
	zygote *forker
	inARow int
	told   bool
	until  time.Time // no other is forked before
}

// note counts the end of a spare. It reports whether the operator is to be told,
// once for each zygote.
func (l *losses) note(sp *spare) (tell bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if time.Since(sp.forked) > lossRecent {
		return false
	}
	if l.zygote != sp.zygote {
		l.zygote, l.inARow, l.told = sp.zygote, 0, false
	}
	const most = 20 // doublings
	l.until = time.Now().Add(min(lossPause<<min(l.inARow, most), lossLongest))
	l.inARow++
	tell = l.inARow >= lossTold && !l.told
	l.told = l.told || tell
	return tell
}

// forgive has the next spare forked at once: a start has found too few.
func (l *losses) forgive() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.inARow, l.until = 0, time.Time{}
}

// pause returns how long the zygote is to be left alone, 0 when it need not be.
func (l *losses) pause(zygote *forker) time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.zygote != zygote {
		return 0
	}
	return max(0, time.Until(l.until))
}
