package worker

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"understudy/sessions"
)

const (
	// diskPoll is how many looks at memory there are for one at the disk.
	diskPoll = 20
	// diskLeast is how many bytes a run may always write that began beyond the limit.
	diskLeast = 1 << 20
)

// diskCase is what is remembered of a worker's files.
type diskCase struct {
	known  bool
	before int64 // bytes that were there already
	round  int   // which run was the last when that was counted
}

// watchDisks ends workers whose runs write more files than they may. What is there
// already when a run begins is never a reason: the next one has to be able to delete
// what the last has written. It has a goroutine of its own, for a walk over many files
// takes a while.
func (d *warden) watchDisks() {
	cases := map[*worker]*diskCase{}
	pause := diskPoll * d.limits.Poll
	for {
		select {
		case <-d.life.Done():
			return
		case <-time.After(pause):
		}
		began := time.Now()
		present := d.spawner.present()
		for w := range cases {
			if !present[w] {
				delete(cases, w)
			}
		}
		for w := range present {
			if cases[w] == nil {
				cases[w] = &diskCase{}
			}
			d.lookAtFiles(w, cases[w])
		}
		pause = max(diskPoll*d.limits.Poll, wardenShare*time.Since(began))
	}
}

func (d *warden) lookAtFiles(w *worker, c *diskCase) {
	spec := w.spec.Load()
	busy, round := w.interrupts.standing()
	if spec == nil || !busy && c.known && c.round == round { // nothing has run since
		return
	}
	margin := max(d.limits.Disk/100, diskLeast)
	allowed := max(d.limits.Disk, c.before+margin)
	if !busy || !c.known {
		size, err := sizeOnDisk(d.life, -1, placesOf(spec)...)
		if err != nil {
			return
		}
		// What short runs have written unseen is laid to the next that is seen. Once
		// that is ended, or at the very first look, what is there counts as old.
		if c.known {
			size = min(size, c.before)
		}
		c.before, c.known, c.round = size, true, round
		return
	}
	size, err := sizeOnDisk(d.life, allowed, placesOf(spec)...)
	if err != nil || size <= allowed || !w.interrupts.busy() {
		return
	}
	c.known = false // the next run begins with what is there
	cause := fmt.Sprintf("disk limit of %s reached: delete files below %s that are not needed", sessions.SizeInWords(d.limits.Disk), strings.Join(placesOf(spec), " and "))
	d.log.Info("an interpreter is ended", "pid", w.process.pid, "reason", cause)
	w.process.blame(cause)
	d.running.Go(func() { w.process.kill(cause) })
}

// placesOf are the directories that count: the home of the session and its branches,
// with their /tmp, and the working directory.
func placesOf(spec *sessions.Spec) []string {
	if spec.Home == "" {
		return []string{spec.Workdir}
	}
	return []string{spec.Home, spec.Workdir}
}

var errEnough = errors.New("enough")

// sizeOnDisk adds up what the files below the directories take, in bytes. It stops
// when that is more than enough, unless enough is negative. Links are not followed,
// and what can't be read, or goes meanwhile, doesn't count.
func sizeOnDisk(ctx context.Context, enough int64, dirs ...string) (size int64, err error) {
	for i, dir := range dirs {
		if i > 0 && isBelow(dir, dirs[0]) {
			continue
		}
		err = filepath.WalkDir(dir, func(_ string, entry fs.DirEntry, err error) error {
			if err != nil {
				return nil
			}
			info, err := entry.Info()
			if err != nil {
				return nil
			}
			if stat, ok := info.Sys().(*syscall.Stat_t); ok {
				size += stat.Blocks * 512
			}
			if enough >= 0 && size > enough {
				return errEnough
			}
			return ctx.Err()
		})
		if errors.Is(err, errEnough) {
			return size, nil
		}
		if err != nil {
			return 0, err
		}
	}
	return size, nil
}

func isBelow(dir, other string) bool {
	rest, err := filepath.Rel(other, dir)
	return err == nil && rest != ".." && !strings.HasPrefix(rest, "../")
}
