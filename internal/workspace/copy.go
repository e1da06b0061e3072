package workspace

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"strings"
	"syscall"
)

// copyStep is how many bytes of a file are copied between two looks at the context.
const copyStep = 16 << 20

func copyError(from string, err error) error { return fmt.Errorf("data: copying %s: %w", from, err) }

// put makes of an entry of the data what it is in input/.
func (p *preparation) put(f found) (err error) {
	if f.note != "" {
		p.note("%s: %s", f.from, f.note)
	}
	to := path.Join(InputName, f.to)
	switch {
	case f.left:
		return nil
	case f.into != "":
		return p.archive(f)
	case p.options.Link:
		if err = p.root.Symlink(f.from, to); err != nil {
			err = fmt.Errorf("%w (--data-mode copy needs no links)", err)
		}
		p.made.Files++
	case f.link != "":
		err = p.root.Symlink(f.link, to)
	case f.info.IsDir():
		err = errors.Join(p.root.Mkdir(to, 0o700), p.root.Chmod(to, lent(f.info.Mode()|0o700)))
	case f.info.Mode().IsRegular():
		return p.file(f.from, to)
	} // else it is a link, and what it leads to comes next
	if err != nil {
		return copyError(f.from, err)
	}
	return nil
}

// archive unpacks an archive. One that is in a directory, and can't be read, stays as it is.
func (p *preparation) archive(f found) error {
	err := p.unpackFile(f.from, path.Join(InputName, f.into), f.format)
	if err == nil || p.stops(err) || !p.source.info.IsDir() {
		return err
	}
	f.note, f.into = strings.TrimPrefix(err.Error(), f.from+": ")+"; it stays as it is", ""
	return p.put(f)
}

// openSource opens a file of the data, without blocking: it may have become a pipe.
func openSource(from string) (*os.File, fs.FileInfo, error) {
	source, err := os.OpenFile(from, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, nil, copyError(from, err)
	}
	info, err := source.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = fmt.Errorf("it became %s", kindOf(info.Mode()))
	}
	if err != nil {
		return nil, nil, errors.Join(copyError(from, err), source.Close())
	}
	return source, info, nil
}

// file copies one file, with its times and its mode.
func (p *preparation) file(from, to string) error {
	p.name.Store(&to)
	source, info, err := openSource(from)
	if err != nil {
		return err
	}
	defer source.Close()
	target, err := p.root.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return copyError(from, err)
	}
	err = p.copyBytes(target, source, info.Size())
	err = errors.Join(err, target.Chmod(lent(info.Mode()|0o400)), target.Close())
	if err == nil {
		err = p.root.Chtimes(to, info.ModTime(), info.ModTime())
	}
	if err != nil {
		return copyError(from, err)
	}
	p.made.Files++
	return nil
}

// copyBytes copies size bytes, and no more if the file grows meanwhile. Between
// two files io.CopyN has the kernel do it.
func (p *preparation) copyBytes(target, source *os.File, size int64) error {
	for left := size; left > 0; {
		if err := p.ctx.Err(); err != nil {
			return err
		}
		step := min(left, copyStep)
		if err := p.meter.wrote(step); err != nil {
			return err
		}
		n, err := io.CopyN(target, source, step)
		p.made.Bytes += n
		p.done.Add(n)
		if errors.Is(err, io.EOF) {
			p.note("%s was cut while it was copied", source.Name())
			return nil
		}
		if err != nil {
			return err
		}
		left -= n
	}
	return nil
}

// lent is the mode of a copy: without what lets others write, and without setuid.
func lent(mode fs.FileMode) fs.FileMode { return mode.Perm() &^ 0o022 }
