package workdir

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"strings"

	"understudy/internal/untrusted"
)

// ReclaimHomes does for homes below root, a Root, what the server could not do that was
// killed and had KeepWorkdirs: working directories become this server's user's, and what is
// nobody's any more goes. It returns the paths below root that it has seen to. No server may
// be at work in root. What ctx leaves is for the next time.
func ReclaimHomes(ctx context.Context, root *os.Root) (seen []string, err error) {
	entries, err := fs.ReadDir(root.FS(), ".")
	for _, entry := range entries {
		if ctx.Err() != nil {
			return seen, errors.Join(err, ctx.Err())
		}
		name := entry.Name()
		if !strings.HasPrefix(name, homePrefix) {
			continue
		}
		if _, missing := root.Lstat(name + string(os.PathSeparator) + homeTmp); missing != nil {
			continue // it has ended in order, or is none
		}
		seen = append(seen, name)
		err = errors.Join(err, reclaimHome(ctx, root, name))
	}
	return seen, err
}

// reclaimHome ends with the directory by which ReclaimHomes tells what it has to do.
func reclaimHome(ctx context.Context, root *os.Root, name string) error {
	home, err := untrusted.OpenDir(root, name)
	if err != nil {
		return err
	}
	entries, err := fs.ReadDir(home.FS(), ".")
	for _, entry := range entries {
		if inside := entry.Name(); inside != homeTmp && inside != Packages {
			err = errors.Join(err, untrusted.Reclaim(home, inside))
		}
	}
	for _, shared := range []string{Packages, homeTmp} {
		if err == nil {
			err = untrusted.RemoveTree(ctx, home, shared)
		}
	}
	if err = errors.Join(err, home.Close()); err == nil {
		_ = root.Remove(name) // it stays while a working directory is in it
	}
	return err
}

// Tidy removes from a Root what the server could not remove that was killed and had
// KeepFiles: code files, and what is nobody's any more. No server may be at work in root.
func Tidy(ctx context.Context, root *os.Root) error {
	_, err := ReclaimHomes(ctx, root)
	entries, failed := fs.ReadDir(root.FS(), ".")
	err = errors.Join(err, failed)
	for _, entry := range entries {
		if !entry.IsDir() {
			continue
		}
		dir, failed := untrusted.OpenDir(root, entry.Name())
		if failed != nil {
			err = errors.Join(err, failed)
			continue
		}
		if strings.HasPrefix(entry.Name(), homePrefix) {
			failed = Tidy(ctx, dir)
		} else {
			failed = untrusted.RemoveTree(ctx, dir, codeDir)
		}
		err = errors.Join(err, failed, dir.Close())
		_ = root.Remove(entry.Name()) // it stays while something is in it
	}
	return err
}
