package workspace

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"syscall"
)

// Summary says what Prepare has made.
type Summary struct {
	// Reused is true when the data was there from an earlier run.
	Reused bool
	// Files and Bytes are what was written to input/.
	Files int
	Bytes int64
	// Notes are plain sentences about what was left out or left as it is; More is
	// how many more there are.
	Notes []string
	More  int
}

// preparation is one run of Prepare.
type preparation struct {
	*Plan
	ctx   context.Context
	root  *os.Root // input.partial
	meter *meter
	// outside is what a directory that is copied may not be, or be in.
	outside []fs.FileInfo
	// linked are the directories out of the sources that links led to, with what their
	// copies are called in input/, and found is how many entries they have.
	linked map[string]string
	found  int
	made   Summary
	buffer []byte
	log    *slog.Logger
}

// manyNotes is how many notes are kept.
const manyNotes = 50

func (p *preparation) note(format string, args ...any) {
	if len(p.made.Notes) == manyNotes {
		p.made.More++
		return
	}
	p.made.Notes = append(p.made.Notes, fmt.Sprintf(format, args...))
}

// Prepare copies, links and unpacks the data into input/, which appears when all of
// it is there: what fails, or is stopped by ctx, leaves nothing. Two servers with
// one workspace take turns. working/ is made beside it. Root prepares it for the user
// to whom the workspace belongs.
func (p *Plan) Prepare(ctx context.Context) (Summary, error) {
	if err := os.MkdirAll(p.options.Dir, 0o700); err != nil {
		return Summary{}, fmt.Errorf("making the workspace: %w", err)
	}
	root, err := os.OpenRoot(p.options.Dir)
	if err != nil {
		return Summary{}, fmt.Errorf("opening the workspace: %w", err)
	}
	defer func() { _ = root.Close() }() // nothing is written by way of it
	if err := makeWorking(root); err != nil {
		return Summary{}, fmt.Errorf("making %s: %w", filepath.Join(p.options.Dir, WorkingName), err)
	}
	unlock, err := p.lock(ctx, root)
	if err != nil {
		return Summary{}, err
	}
	defer unlock()
	wanted, err := p.survey(ctx)
	if err != nil {
		return Summary{}, err
	}
	if reused, err := p.reuse(root, wanted); reused || err != nil {
		return Summary{Reused: reused}, err
	}
	return p.fill(ctx, root, wanted)
}

// makeWorking makes working/ for the owner of the workspace, unless it is there.
func makeWorking(root *os.Root) error {
	err := root.Mkdir(WorkingName, 0o700)
	if errors.Is(err, fs.ErrExist) {
		return root.MkdirAll(WorkingName, 0o700) // it may be a link to a directory
	}
	if err != nil {
		return err
	}
	of, err := ownerOf(root)
	if err != nil {
		return err
	}
	return of.take(root, WorkingName)
}

// fill makes input.partial and gives it its name.
func (p *Plan) fill(ctx context.Context, root *os.Root, wanted stamp) (made Summary, err error) {
	if err := p.clear(ctx, root); err != nil { // of a server that was killed
		return Summary{}, err
	}
	if err := root.WriteFile(partialMark, nil, 0o600); err != nil {
		return Summary{}, fmt.Errorf("workspace: %w", err)
	}
	defer func() {
		if err != nil {
			limited, cancel := context.WithTimeout(context.WithoutCancel(ctx), removeTime)
			defer cancel()
			err = errors.Join(err, p.clear(limited, root))
		}
	}()
	if err := root.Mkdir(partialName, 0o700); err != nil {
		return Summary{}, err
	}
	input, err := root.OpenRoot(partialName)
	if err != nil {
		return Summary{}, err
	}
	made, err = p.into(ctx, input)
	if err = errors.Join(err, input.Close()); err != nil {
		return Summary{}, err
	}
	if err := ctx.Err(); err != nil {
		return Summary{}, err
	}
	if err := wanted.write(root); err != nil {
		return Summary{}, err
	}
	of, err := ownerOf(root)
	if err == nil {
		err = of.take(root, partialName)
	}
	if err != nil {
		return Summary{}, err
	}
	if err := root.Rename(partialName, InputName); err != nil {
		return Summary{}, err
	}
	_ = root.Remove(partialMark) // one alone means nothing
	return made, nil
}

// clear removes input.partial, if the mark beside it says that it is ours. What ctx
// leaves of it keeps the mark, and goes when the next server prepares the workspace.
func (p *Plan) clear(ctx context.Context, root *os.Root) error {
	if _, err := root.Lstat(partialName); err == nil {
		if _, err := root.Lstat(partialMark); err != nil {
			return fmt.Errorf("workspace: %s is there already and is not of --data; move it away, or choose another directory with --workspace", filepath.Join(p.options.Dir, partialName))
		}
	}
	if err := removeTree(ctx, root, partialName); err != nil {
		return fmt.Errorf("removing what is not prepared to its end: %w", err)
	}
	if err := root.Remove(partialMark); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("workspace: %w", err)
	}
	return nil
}

// into puts all items into an empty directory.
func (p *Plan) into(ctx context.Context, input *os.Root) (Summary, error) {
	workspace, err := os.Stat(p.options.Dir)
	if err != nil {
		return Summary{}, err
	}
	work := &preparation{
		Plan: p, ctx: ctx, root: input, outside: []fs.FileInfo{workspace},
		meter: &meter{limits: p.options.Limits, room: freeRoom(p.options.Dir, p.options.Limits.Reserve)},
		log:   p.options.Logger, buffer: make([]byte, 1<<20), linked: map[string]string{},
	}
	if total := p.total.Load(); total > work.meter.room {
		return Summary{}, fmt.Errorf("data: the sources are %s, and the disk has %s for them: make room, or choose another disk with --workspace", size(total), size(work.meter.room))
	}
	for _, item := range p.items {
		if err := work.item(item); err != nil {
			return Summary{}, err
		}
	}
	return work.made, nil
}

// item puts one item into input/.
func (p *preparation) item(item item) error {
	if err := p.ctx.Err(); err != nil {
		return err
	}
	p.name.Store(&item.name)
	switch {
	case item.format.unpacked():
		return p.unpackSource(item)
	case p.options.Link:
		if err := p.root.Symlink(item.path, item.name); err != nil {
			return fmt.Errorf("data: linking %s: %w (--data-mode copy needs no links)", item.path, err)
		}
		p.made.Files++
		return nil
	}
	c := &copying{preparation: p, base: item.source.path}
	return c.place(item.path, item.name, p.outside)
}

// unpackSource unpacks an archive that the operator gave, or one of the entries of
// a directory that was given. The first must unpack; the other may stay as it is.
func (p *preparation) unpackSource(item item) error {
	if !item.source.dir {
		return p.unpackFile(item.path, item.path, item.name, item.format)
	}
	archiveName := filepath.Base(item.path)
	err := p.unpackFile(item.path, item.path, item.name, item.format)
	if fatal(err) {
		return err
	}
	if err == nil {
		return nil
	}
	p.note("%v; it stays as it is", err)
	if p.options.Link {
		return p.root.Symlink(item.path, archiveName)
	}
	c := &copying{preparation: p, base: item.source.path}
	return c.file(item.path, archiveName)
}

// fatal reports whether err ends the preparation although the archive
// it is about could stay as it is: a limit, a full disk, or who asked to stop.
func fatal(err error) bool {
	if err == nil {
		return false
	}
	var limit *limitError
	var archive *archiveError
	for _, heard := range []error{context.Canceled, context.DeadlineExceeded, syscall.ENOSPC, syscall.EDQUOT} {
		if errors.Is(err, heard) {
			return true
		}
	}
	return errors.As(err, &limit) || !errors.As(err, &archive)
}
