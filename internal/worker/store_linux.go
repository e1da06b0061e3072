package worker

import (
	"sync"
	"time"
)

// store is what is remembered of the files of a family, or of a working directory: it
// outlives the workers.
//
// What is there when a run begins is never a reason to end it. Growth beyond the limit is
// answered in two steps: first no file may grow any more, which the code that writes meets
// as an error; and only who goes on all the same is ended.
type store struct {
	place string
	// common says that the directory isn't the family's own: what was there before the
	// first run is somebody else's, and what is added may be, too.
	common bool
	most   int64     // bytes that interpreters may put there
	made   time.Time // no file that is older is theirs

	mu     sync.Mutex
	limit  int64 // bytes that may be there: most, and of a common one what was there at first
	runs   map[*worker]*run
	begun  int  // how many have begun so far
	unseen bool // something has run since the last count
	slow   bool // no run waits for a count any more
	known  bool // it was counted before
	held   bool // files may not grow, but those of runs that have begun since
	took   time.Duration
	last   int64 // what was there at the last count, or more
	short  bool  // that count ended before its end: there may be more
	least  int64 // the fewest that were there since the limit was passed; 0 when it isn't

	looked time.Time
	free   uint64 // bytes, of the file system, at the last count
}

// run is one that is under way.
type run struct {
	base   int64 // what was there when it began, or when its files were held; or uncounted
	began  time.Time
	free   uint64 // bytes, of the file system, at that moment
	held   bool   // it has met the limit
	unheld bool   // and its files could not be kept from growing
	ending bool
	// written is what its processes had written when they were held, in bytes.
	written map[int]uint64
	killed  int // processes of its worker's that went on
}

func newStore(place string, common bool, most int64) *store {
	return &store{place: place, common: common, most: most, made: time.Now(), limit: most, runs: map[*worker]*run{}}
}

// allowed is how many bytes there may be that nobody is blamed for.
func (s *store) allowed() int64 {
	if s.least == 0 {
		return s.limit
	}
	return max(s.limit, s.least+max(s.most/100, diskLeast))
}

// isNear reports whether there is so much that it is looked at often.
func (s *store) isNear() bool { return s.last > s.limit-s.most/5 }

// waits reports whether a run that is about to begin waits for a count: nobody knows
// what there is, or little room is left and it takes no time.
func (s *store) waits() bool {
	if len(s.runs) > 0 || s.known && !s.unseen && !s.short {
		return false
	}
	return !s.known && !s.slow || s.known && s.isNear() && s.took <= diskQuick
}

// take keeps a count, for which so many runs had begun.
func (s *store) take(size int64, begun int) {
	if s.common && !s.known {
		s.limit += size
	}
	s.known, s.last, s.short = true, size, false
	s.unseen = len(s.runs) > 0 || s.begun != begun
	switch {
	case size <= s.limit:
		s.least = 0
	case s.least == 0 || size < s.least:
		s.least = size
	}
}

// enough is beyond how many bytes a look needs no more exact count.
func (s *store) enough() int64 {
	enough := s.allowed()
	for _, r := range s.runs {
		if r.base == uncounted {
			return uncounted
		}
		enough = max(enough, r.base+diskLittle)
	}
	if !s.known {
		return uncounted
	}
	return enough
}

// judge takes a count, for which so many runs had begun, and which may have been cut short
// when there was enough. It says whether files have to be held, and returns whose runs have
// to end as they went on when theirs were.
func (s *store) judge(size int64, begun int, short bool) (hold bool, tooMuch []*worker) {
	allowed, passed := s.allowed(), s.least > 0
	if !s.known && s.common {
		allowed += size
	}
	s.take(size, begun)
	s.short = short
	hold = len(s.runs) == 0 && size > allowed // by what goes on between runs
	for w, r := range s.runs {
		switch {
		case r.ending, r.base == uncounted && short:
		case r.base == uncounted:
			r.base = size
		case size <= max(allowed, r.base+diskLittle):
		case r.held:
			tooMuch = append(tooMuch, w)
		default:
			hold, r.held = true, true
			r.base = uncounted // what comes until files are held is still within the rules
		}
	}
	if hold && !passed {
		s.least = 0 // likewise
	}
	s.held = size > s.limit && (s.held || hold)
	return hold, tooMuch
}

// isDue reports whether it is time to count. Whoever writes a lot uses up what is free:
// that is seen without a walk over the files, at once, and also while nothing runs.
func (s *store) isDue(now time.Time, free uint64, poll time.Duration) bool {
	for _, r := range s.runs {
		if r.ending {
			return false
		}
	}
	room := max(0, s.allowed()-s.last)
	usedUp := s.free > free && s.free-free > uint64(max(room/2, s.most/100))
	if len(s.runs) == 0 && !s.unseen {
		return usedUp && !s.held || s.held && s.last <= s.limit
	}
	return !s.known || s.isNear() || usedUp || now.Sub(s.looked) >= diskPoll*poll
}
