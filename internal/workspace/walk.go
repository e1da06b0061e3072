package workspace

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// found is one entry of the data, as a walk comes to it.
type found struct {
	from string // its path
	to   string // what it is called in input/
	into string // what is to be made of an archive in input/; "" for what is no archive
	// format is the archive's, by its name in input/: what a link leads to may have another.
	format format
	info   fs.FileInfo
	// target is what a link says. What it leads to comes next, unless it is left out, or
	// stays a link, to what has the relative path link.
	target, link string
	note         string // what is to be said of it
	left         bool   // it is left out
}

// walker goes through what one source has for input/. A link that stays in the source
// stays a link; one that leads out of it stands for what it leads to.
type walker struct {
	ctx   context.Context //nolint:containedctx // it lives as long as one walk
	base  string          // the source, without links
	visit func(found) error
	// out is how deep it is in directories that links out of the source led to, outside
	// how many entries they have, and most how many they may have.
	out, outside, most int
}

// directory visits what is in a directory. above are those that it is in, itself among
// them, so that no link leads round.
func (w *walker) directory(from, to string, above []fs.FileInfo) error {
	names, taken, err := list(from)
	if err != nil {
		return err
	}
	for _, name := range names {
		if err := w.entry(filepath.Join(from, name), path.Join(to, name), taken, above); err != nil {
			return err
		}
	}
	return nil
}

// list returns the names in a directory in their order, litter left out, and which are taken.
func list(dir string) (names []string, taken map[string]bool, err error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, nil, copyError(dir, err)
	}
	taken = map[string]bool{}
	for _, entry := range entries {
		if taken[entry.Name()] = true; !isLitter(entry.Name()) {
			names = append(names, entry.Name())
		}
	}
	return names, taken, nil
}

// entry visits one entry of a directory in which those names are taken.
func (w *walker) entry(from, to string, taken map[string]bool, above []fs.FileInfo) error {
	if err := w.ctx.Err(); err != nil {
		return err
	}
	if w.out > 0 {
		if w.outside++; w.outside > w.most {
			return &limitError{fmt.Sprintf("data: links in %s lead to more than %d files out of it; remove those links, or give the data without them", w.base, w.most)}
		}
	}
	info, err := os.Lstat(from)
	if errors.Is(err, fs.ErrNotExist) {
		return nil // it went while its directory was copied
	}
	if err != nil {
		return copyError(from, err)
	}
	f := found{from: from, to: to, info: info}
	switch {
	case info.Mode()&fs.ModeSymlink != 0:
		return w.link(f, taken, above)
	case info.IsDir():
		return w.below(f, above)
	case info.Mode().IsRegular():
		return w.file(f, taken)
	}
	return w.leave(f, "is "+kindOf(info.Mode()))
}

func (w *walker) leave(f found, why string) error {
	f.note, f.left = why+" and was left out", true
	return w.visit(f)
}

// below visits a directory, then what is in it.
func (w *walker) below(f found, above []fs.FileInfo) error {
	if slices.ContainsFunc(above, func(other fs.FileInfo) bool { return os.SameFile(f.info, other) }) {
		return w.leave(f, "leads round in a circle, or into the workspace,")
	}
	if err := w.visit(f); err != nil {
		return err
	}
	return w.directory(f.from, f.to, append(slices.Clip(above), f.info))
}

// file visits a file, and says whether it is an archive to be unpacked: not one beside which
// its name is taken, by who has unpacked it already.
func (w *walker) file(f found, taken map[string]bool) error {
	switch format := formatOf(path.Base(f.to)); {
	case format.kind == kindOther:
		f.note = "stays as it is: only zip, tar, tar.gz and tar.bz2 are unpacked"
	case format.kind != "" && taken[format.stem]:
		f.note = fmt.Sprintf("stays as it is: there is a %s already", format.stem)
	case format.kind != "":
		if path.Dir(f.to) != "." { // of two archives at the top findClash tells
			taken[format.stem] = true
		}
		f.into, f.format = path.Join(path.Dir(f.to), format.stem), format
	}
	return w.visit(f)
}

func (w *walker) link(f found, taken map[string]bool, above []fs.FileInfo) error {
	f.target, _ = os.Readlink(f.from) // "" for one that has gone
	target, err := filepath.EvalSymlinks(f.from)
	if err != nil {
		return w.leave(f, "is a link that leads nowhere")
	}
	info, err := os.Stat(target)
	if err != nil {
		return copyError(f.from, err)
	}
	if local, err := filepath.Rel(w.base, target); err == nil && filepath.IsLocal(local) && copied(local, info) {
		f.link, err = filepath.Rel(filepath.Dir(f.to), local)
		return errors.Join(err, w.visit(f))
	}
	next := found{from: target, to: f.to, info: info}
	switch {
	case within(target, w.base):
		return w.leave(f, "is a link to "+target+", which the data is in,")
	case info.IsDir():
		f.note = "is a link out of the data: the directory " + target + " was copied"
		w.out++
		defer func() { w.out-- }()
		return errors.Join(w.visit(f), w.below(next, above))
	case info.Mode().IsRegular():
		f.note = "is a link to " + target + ", which was copied"
		return errors.Join(w.visit(f), w.file(next, taken))
	}
	return w.leave(f, "is a link to "+kindOf(info.Mode()))
}

// copied reports whether what is at local in the source is there in the copy too.
func copied(local string, info fs.FileInfo) bool {
	return !hasLitter(local) && (info.IsDir() || info.Mode().IsRegular() && formatOf(local).kind == "")
}

// isLitter reports whether a name is what macOS leaves in directories and archives.
func isLitter(name string) bool { return name == "__MACOSX" || name == ".DS_Store" }

func hasLitter(path string) bool {
	return slices.ContainsFunc(strings.Split(filepath.ToSlash(path), "/"), isLitter)
}

func kindOf(mode fs.FileMode) string {
	switch {
	case mode&fs.ModeNamedPipe != 0:
		return "a pipe"
	case mode&fs.ModeSocket != 0:
		return "a socket"
	case mode&fs.ModeDevice != 0:
		return "a device"
	}
	return "mode " + mode.Type().String()
}
