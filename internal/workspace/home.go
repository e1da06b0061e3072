package workspace

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/gofrs/flock"
)

// unusedEnding is that of the file beside a workspace which says that nothing has
// run in it. It is locked by the server whose workspace it is, so that the next
// one can tell what a killed server left.
const unusedEnding = ".unused"

// Home is a workspace that this server has made. It goes with the server unless
// something has run in it.
type Home struct {
	Dir string // its absolute path

	mu     sync.Mutex
	unused *flock.Flock // nil once it is used
}

// NewHome makes a workspace of that name below root, or of a name that begins
// with it.
func NewHome(root, name string) (*Home, error) {
	if err := os.MkdirAll(root, 0o700); err != nil {
		return nil, fmt.Errorf("making the directory for them (choose another with --workspace): %w", err)
	}
	for dir := filepath.Join(root, name); ; dir = filepath.Join(root, name+"-"+rand.Text()[:4]) {
		if _, err := os.Lstat(dir); err == nil { // it is somebody's, and nothing may say that it is unused
			continue
		}
		unused, err := mark(dir)
		if err != nil {
			return nil, err
		}
		if unused == nil { // another server takes it for one that was left
			continue
		}
		err = os.Mkdir(dir, 0o700)
		if err == nil {
			return &Home{Dir: dir, unused: unused}, nil
		}
		if err = errors.Join(err, release(unused)); !errors.Is(err, fs.ErrExist) {
			return nil, err
		}
	}
}

// unusedText is what the file beside a workspace holds, with the workspace's name: a
// file of another kind says nothing.
func unusedText(dir string) string {
	return "understudy: nothing has run in " + filepath.Base(dir) + "\n"
}

// mark says that a workspace is unused, and locks what says so; nil if another server
// has it. The text is there before the lock, as Windows lets nobody write to a file
// that is locked.
func mark(dir string) (*flock.Flock, error) {
	name := dir + unusedEnding
	file, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if errors.Is(err, fs.ErrExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	_, err = file.WriteString(unusedText(dir))
	if err = errors.Join(err, file.Close()); err != nil {
		return nil, errors.Join(err, os.Remove(name))
	}
	unused := flock.New(name, flock.SetFlag(os.O_RDONLY))
	ok, err := unused.TryLock()
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, errors.Join(fmt.Errorf("locking %s: %w", name, err), os.Remove(name))
	}
	if _, gone := os.Lstat(unused.Path()); !ok || gone != nil {
		return nil, unused.Close()
	}
	return unused, nil
}

// marked reports whether the file beside a workspace says that it is unused. What
// can't be read doesn't say it, as on Windows a file that is locked.
func marked(dir string) bool {
	text := unusedText(dir)
	info, err := os.Lstat(dir + unusedEnding)
	if err != nil || !info.Mode().IsRegular() || info.Size() != int64(len(text)) {
		return false
	}
	found, err := os.ReadFile(dir + unusedEnding)
	return err == nil && string(found) == text
}

// Use says that something is about to run in it: it stays, even if the server is
// killed. More calls do nothing.
func (h *Home) Use() error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.unused == nil {
		return nil
	}
	if err := release(h.unused); err != nil {
		return fmt.Errorf("keeping the workspace: %w", err)
	}
	h.unused = nil
	return nil
}

// Close removes it if nothing was used in it, or if what was started in it ran
// nothing and left nothing. It reports whether it is gone.
// After context.DeadlineExceeded the rest goes at another server's start.
func (h *Home) Close(ran bool) (removed bool, err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if ran || !untouched(h.Dir) {
		if h.unused != nil {
			err = release(h.unused)
		}
		return false, err
	}
	if h.unused == nil { // should there be no time to remove all, another server does
		if h.unused, err = mark(h.Dir); err != nil || h.unused == nil {
			return false, err
		}
	}
	limited, cancel := context.WithTimeout(context.Background(), removeTime)
	defer cancel()
	err = removeUnused(limited, h.Dir, h.unused)
	return err == nil, err
}

// removeUnused removes a workspace, and what says that it is unused. Nobody else takes its
// name as long as that goes on, also behind ctx.
func removeUnused(ctx context.Context, dir string, unused *flock.Flock) error {
	hideInput(dir)
	return inTime(ctx, func() error {
		if err := os.RemoveAll(dir); err != nil {
			return errors.Join(err, unused.Close())
		}
		return release(unused)
	})
}

// hideInput moves input/ to where it isn't looked at: half of it, or without its stamp, it
// would look like somebody's, and the next server would keep it.
func hideInput(dir string) {
	_ = os.Rename(filepath.Join(dir, InputName), filepath.Join(dir, ownName, InputName)) // there may be none
}

// removeTime is how long a server that ends may take to remove what it leaves unused.
// The rest is removed by one that starts later.
const removeTime = 2 * time.Second

// inTime removes something, and does not wait for longer than ctx: the server ends then,
// and the rest stays.
func inTime(ctx context.Context, remove func() error) error {
	done := make(chan error, 1)
	go func() { done <- remove() }()
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// untouched reports whether a workspace holds nothing but what was prepared.
func untouched(dir string) bool {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return errors.Is(err, fs.ErrNotExist)
	}
	for _, entry := range entries {
		if !slices.Contains([]string{InputName, WorkingName, ownName, earlierPartial}, entry.Name()) {
			return false
		}
	}
	if input, err := os.Lstat(filepath.Join(dir, InputName)); err == nil {
		stamp, err := os.Lstat(filepath.Join(dir, stampName))
		if err != nil || input.ModTime().After(stamp.ModTime()) { // somebody put something there
			return false
		}
	}
	working, err := os.ReadDir(filepath.Join(dir, WorkingName))
	return len(working) == 0 && (err == nil || errors.Is(err, fs.ErrNotExist))
}

// release removes a lock's file and lets go of the lock; in this order, as another
// server that gets the lock then finds nothing to remove. Windows removes no file
// that is open.
func release(lock *flock.Flock) error {
	early := os.Remove(lock.Path())
	err := lock.Close()
	if early != nil { // else what has its name now is another's
		early = os.Remove(lock.Path())
	}
	if errors.Is(early, fs.ErrNotExist) {
		early = nil
	}
	return errors.Join(err, early)
}

// Sweep removes the workspaces below root of servers that were killed before anything
// ran, until ctx ends. It may take long, and run beside everything else.
func Sweep(ctx context.Context, root string, log *slog.Logger) {
	left, _ := fs.Glob(os.DirFS(root), "?*"+unusedEnding) // of the pattern nothing is wrong
	for _, name := range left {
		dir := filepath.Join(root, strings.TrimSuffix(name, unusedEnding))
		if err := sweepOne(ctx, dir); err != nil && ctx.Err() == nil {
			log.Warn("removing an unused workspace of a server that died", "dir", dir, "error", err)
		}
	}
}

func sweepOne(ctx context.Context, dir string) error {
	if !marked(dir) { // it is not ours
		return nil
	}
	lock := flock.New(dir+unusedEnding, flock.SetFlag(os.O_RDONLY)) // not made anew if it goes now
	free, err := lock.TryLock()
	if errors.Is(err, fs.ErrNotExist) || err == nil && !free {
		return nil
	}
	if err != nil {
		return err
	}
	if _, err := os.Lstat(lock.Path()); err != nil { // its server has just said that it is used
		return lock.Close()
	}
	if !untouched(dir) { // somebody put something there
		return release(lock)
	}
	return removeUnused(ctx, dir, lock)
}
