package limits

import (
	"context"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"understudy/internal/phrase"
)

// freeOn is how many bytes are free on the file system of a directory, 0 if that can't
// be told.
func freeOn(dir string) uint64 {
	var stat unix.Statfs_t
	if unix.Statfs(dir, &stat) != nil {
		return 0
	}
	return stat.Bfree * uint64(stat.Bsize)
}

// What a walk needs for directories that are deeper than a path may be long.
const (
	longestPath = 3500 // bytes; with a name it stays below the kernel's 4096
	mostRests   = 64   // of such a directory, one below the other
	absurd      = 1 << 50
)

// sizeBelow adds up what the files below the directory take, in bytes. Links are not
// followed, and what can't be read, or goes meanwhile, doesn't count. The largest are noted
// for who asks for them.
func sizeBelow(ctx context.Context, dir string, largest *largest) (int64, error) {
	w := walk{ctx: ctx, largest: largest}
	err := w.add(dir)
	return w.size, err
}

type walk struct {
	ctx     context.Context
	size    int64
	largest *largest // nil when nobody asks for them
	rests   int      // how many directories are walked by a descriptor
}

func (w *walk) add(dir string) error {
	return filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return nil
		}
		if entry.IsDir() && len(path) > longestPath {
			return w.addRest(path)
		}
		info, err := entry.Info()
		if err != nil {
			return nil
		}
		if stat, ok := info.Sys().(*syscall.Stat_t); ok {
			w.size += stat.Blocks * 512
			w.largest.add(path, stat)
		}
		return w.ctx.Err()
	})
}

// addRest adds a directory from where a shorter path leads to what is in it. That there
// are very many below one another serves nobody: they are more than any limit.
func (w *walk) addRest(path string) error {
	if w.rests == mostRests {
		w.size = max(w.size, absurd) // a sum of many would pass what an int64 holds
		return fs.SkipDir
	}
	fd, err := unix.Open(path, unix.O_PATH|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return fs.SkipDir
	}
	defer func() { _ = unix.Close(fd) }()
	w.rests++
	defer func() { w.rests-- }()
	if err := w.add(fmt.Sprintf("/proc/self/fd/%d/.", fd)); err != nil {
		return err
	}
	return fs.SkipDir
}

const (
	// mostNamed is how many files are named at most, and leastNamed how many bytes each has.
	mostNamed  = 3
	leastNamed = 1 << 20
	// clockTick is more than by how much the time of a file lags behind the clock.
	clockTick = 20 * time.Millisecond
)

// largest are some of those that a walk has met. The zero value keeps nothing less.
type largest struct {
	made  time.Time // only files that have changed since count
	count int       // of all that count
	files []sizedFile

	full   int64     // how large a file may become; 0 without limit
	since  time.Time // when the run began
	capped string    // a file of the run's that has become so large
}

type sizedFile struct {
	path string
	size int64 // bytes on disk
}

func (l *largest) add(path string, stat *syscall.Stat_t) {
	if l == nil || stat.Mode&unix.S_IFMT != unix.S_IFREG {
		return
	}
	changed := time.Unix(stat.Ctim.Unix()).Add(clockTick)
	if l.full > 0 && stat.Size >= l.full && changed.After(l.since) {
		l.capped = path
	}
	if changed.Before(l.made) {
		return
	}
	l.count++
	l.files = append(l.files, sizedFile{path, stat.Blocks * 512})
	slices.SortFunc(l.files, func(a, b sizedFile) int { return int(b.size - a.size) })
	l.files = l.files[:min(len(l.files), mostNamed)]
}

// forget forgets what a walk has met that did not come to its end.
func (l *largest) forget() { l.count, l.files = 0, nil }

// names lists them, as "data/a.bin (20 MiB), b.bin (3 MiB)"; small ones are left out.
func (l *largest) names(below string) string {
	var texts []string
	for _, file := range l.files {
		if file.size < leastNamed {
			break
		}
		path, err := filepath.Rel(below, file.path)
		if err != nil {
			path = file.path
		}
		texts = append(texts, fmt.Sprintf("%.200s (%s)", path, phrase.Size(file.size)))
	}
	return strings.Join(texts, ", ")
}
