package limits

import (
	"fmt"
	"slices"
	"strings"

	"understudy/internal/phrase"
)

// diskFull is with how many free bytes a disk is called full.
const diskFull = 64 << 20

// trouble is what a run has met when it wrote files.
type trouble struct {
	tooLarge bool   // a file could not grow, as its exception has it, or how a command ended
	unclear  bool   // a file could not be written to, for whatever reason
	full     bool   // nothing more could be written
	held     bool   // because there was too much in all
	file     string // one that has become as large as it may
	written  int64  // bytes of the worker's and of its children that have ended, on disks
}

// What Python, shells and SQLite say.
var (
	saysTooLarge  = []string{"[Errno 27]", "SIGXFSZ", "exit code 153", "exit status 153"}
	saysSomething = []string{"disk I/O error"} // which has other causes, too
	saysFull      = []string{"No space left on device", "Disk quota exceeded", "disk is full"}
)

// troubleOf says what a run has met, by its notes and its exception.
func troubleOf(outcome Outcome) *trouble {
	said := strings.Join(append(outcome.Notes, outcome.Traceback), "\n")
	says := func(words []string) bool {
		return slices.ContainsFunc(words, func(each string) bool { return strings.Contains(said, each) })
	}
	return &trouble{tooLarge: says(saysTooLarge), unclear: says(saysSomething), full: says(saysFull)}
}

// endRun lets a run end, and returns what there is to say of the disk limit. It counts
// where the run may have reached it.
func (l *Limiter) endRun(p *place, w Worker, met *trouble) (notes []string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	r := p.runs[w]
	delete(p.runs, w)
	met.held = met.held || r.held
	room := max(0, p.limit-p.size)
	if l.limits.FileSize > 0 {
		room = min(room, l.limits.FileSize)
	}
	if !met.tooLarge && !met.unclear && !met.full && !r.held && met.written <= room/2 && !p.isFull() {
		return nil
	}
	largest := p.largest()
	largest.full, largest.since = l.limits.FileSize, r.began
	deleted, _ := l.count(p, largest) // or what the last count said
	if largest.capped != "" {
		met.file = largest.capped
	}
	switch {
	case r.held && !p.isFull():
		return []string{fmt.Sprintf("the disk limit of %s (--disk-limit) was reached during this run; there is room again", phrase.Size(p.most))}
	case r.held:
		return []string{"files could not grow any more in this run (File too large): " + p.report(largest, deleted)}
	case p.isFull():
		return []string{p.report(largest, deleted)}
	}
	return nil
}

// isFull reports whether next to nothing may be added any more.
func (p *place) isFull() bool { return p.size > p.limit-little }

// report says that the limit is reached, by how much, and what can be done.
func (p *place) report(largest *largest, deleted int64) string {
	used, where, which := p.size, "are in "+p.dir, "what is not needed"
	if p.common {
		used -= p.limit - p.most
		where = "were added to " + p.dir + " since this server first ran code there"
		which = "what your code wrote there and doesn't need, and nothing else"
	}
	text := fmt.Sprintf("disk limit of %s (--disk-limit) reached: %s %s", phrase.Size(p.most), phrase.Size(used), where)
	if largest.count > 1 {
		text += fmt.Sprintf(" (%d files)", largest.count)
	}
	if names := largest.names(p.dir); names != "" {
		text += "; largest: " + names
	}
	if deleted > p.most/10 {
		text += fmt.Sprintf("; %s in deleted files that are still open: close them", phrase.Size(deleted))
	}
	return text + ". Delete " + which + ", or have the limit raised"
}

// fileNotes says what there is to say of the size of a single file, and of a full disk.
func (l *Limiter) fileNotes(workdir string, met *trouble, told bool) (notes []string) {
	most := l.limits.FileSize
	if most > 0 && !met.held && (met.tooLarge || met.file != "") && !(told && most >= l.limits.Disk) {
		text := fmt.Sprintf("a file may become %s at most (--file-size-limit)", phrase.Size(most))
		if met.file != "" {
			text += ", as " + met.file + " is"
		}
		notes = append(notes, text+": write several smaller ones, or have the limit raised")
	}
	if free := freeOn(workdir); met.full && free < diskFull {
		notes = append(notes, fmt.Sprintf("the disk of %s is full (%s free): delete what is not needed", workdir, phrase.Size(int64(free))))
	}
	return notes
}

// largest is for a walk over the place. In a common directory a file that has not changed
// since the first run there is somebody else's.
func (p *place) largest() *largest {
	if p.common {
		return &largest{made: p.made}
	}
	return &largest{}
}
