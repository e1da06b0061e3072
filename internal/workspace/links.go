package workspace

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"strings"
)

// link is a symbolic link of an archive.
type link struct{ name, target string }

// addLink remembers a link. The texts are copied: those of a tar file hold on to all
// that was read with them.
func (u *unpacking) addLink(name, target string) error {
	if len(target) > linkLimit {
		return fmt.Errorf("the target of the link is longer than %d bytes", linkLimit)
	}
	u.links = append(u.links, link{strings.Clone(name), strings.Clone(target)})
	return u.meter.hold(name, target)
}

// makeLinks makes the symbolic links of an archive once all else is there: nothing
// is ever written through one. Of those that lead out of the archive, or nowhere,
// none is left. One look at each is enough: a link on the way of another that
// resolves, resolves as well.
func (u *unpacking) makeLinks(gone string) error {
	if len(u.links) == 0 {
		return nil
	}
	if info, err := u.root.Lstat(u.dest); err != nil || !info.IsDir() {
		return err
	}
	into, err := u.root.OpenRoot(u.dest)
	if err != nil {
		return err
	}
	defer func() { _ = into.Close() }() // what is made is made at once
	for i := range u.links {
		if err := u.ctx.Err(); err != nil {
			return err
		}
		if gone != "" {
			_, u.links[i].name = cut(u.links[i].name)
		}
		if err := u.makeParent(into, u.links[i].name); err != nil {
			return u.at(u.links[i].name, err)
		}
	}
	for _, link := range u.links {
		if err := u.ctx.Err(); err != nil {
			return err
		}
		if err := plain(into.Symlink(link.target, link.name)); errors.Is(err, errTwice) {
			return u.at(link.name, err)
		}
	}
	for _, link := range u.links {
		if err := u.ctx.Err(); err != nil {
			return err
		}
		if _, err := into.Stat(link.name); err == nil {
			u.made.Files++
			continue
		}
		u.note("%s: %q is a link to %q, which is not in the archive, and was left out", u.archive, clip(link.name), clip(link.target))
		if err := into.Remove(link.name); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return u.at(link.name, err)
		}
	}
	return nil
}

// makeParent makes the directory of a link, before there are any.
func (u *unpacking) makeParent(into *os.Root, name string) error {
	if name == "." || name == "" {
		return errors.New("it has no name")
	}
	if path.Dir(name) == "." {
		return nil
	}
	return plainDirectory(u.mkdirs(into, path.Dir(name)))
}
