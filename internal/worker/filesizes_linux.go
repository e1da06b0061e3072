package worker

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"syscall"

	"golang.org/x/sys/unix"
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

// What sizeOnDisk needs for directories that are deeper than a path may be long.
const (
	longestPath = 3500 // bytes; with a name it stays below the kernel's 4096
	mostRests   = 64   // of such a directory, one below the other
)

var errEnough = errors.New("enough")

// sizeOnDisk adds up what the files below the directory take, in bytes. It stops
// when that is more than enough, unless enough is negative. Links are not followed,
// and what can't be read, or goes meanwhile, doesn't count. The largest are noted for who
// asks for them.
func sizeOnDisk(ctx context.Context, enough int64, dir string, largest *largestFiles) (int64, error) {
	walk := diskWalk{ctx: ctx, enough: enough, largest: largest}
	err := walk.add(dir)
	if errors.Is(err, errEnough) {
		err = nil
	}
	return walk.size, err
}

type diskWalk struct {
	ctx    context.Context
	enough int64
	size   int64
	// largest is nil when nobody asks for them.
	largest *largestFiles
	rests   int // how many directories are walked by a descriptor
}

func (d *diskWalk) add(dir string) error {
	return filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return nil
		}
		if entry.IsDir() && len(path) > longestPath {
			return d.addRest(path)
		}
		info, err := entry.Info()
		if err != nil {
			return nil
		}
		if stat, ok := info.Sys().(*syscall.Stat_t); ok {
			d.size += stat.Blocks * 512
			d.largest.add(path, stat)
		}
		if d.enough >= 0 && d.size > d.enough {
			return errEnough
		}
		return d.ctx.Err()
	})
}

// addRest adds a directory from where a shorter path leads to what is in it. That there
// are very many below one another serves nobody: they are more than enough.
func (d *diskWalk) addRest(path string) error {
	if d.rests == mostRests {
		if d.enough < 0 {
			return fs.SkipDir
		}
		d.size = d.enough + 1
		return errEnough
	}
	fd, err := unix.Open(path, unix.O_PATH|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return fs.SkipDir
	}
	defer func() { _ = unix.Close(fd) }()
	d.rests++
	defer func() { d.rests-- }()
	if err := d.add(fmt.Sprintf("/proc/self/fd/%d/.", fd)); err != nil {
		return err
	}
	return fs.SkipDir
}
