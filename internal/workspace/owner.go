package workspace

import (
	"io/fs"
	"os"
)

// owner is a user to whom a workspace belongs that root prepares.
type owner struct{ uid, gid int }

// ownerOf returns to whom a directory belongs; nil unless the server is root and it is
// somebody else's.
func ownerOf(dir *os.Root) (*owner, error) {
	if os.Geteuid() != 0 {
		return nil, nil
	}
	info, err := dir.Stat(".")
	if err != nil {
		return nil, err
	}
	if uid, gid := idsOf(info); uid > 0 {
		return &owner{uid: uid, gid: gid}, nil
	}
	return nil, nil
}

// take gives a directory that root has made, with all that is in it, to the owner, and
// never what a link leads to. It comes last itself: until then nobody reaches the rest.
func (o *owner) take(root *os.Root, name string) error {
	if o == nil {
		return nil
	}
	err := fs.WalkDir(root.FS(), name, func(path string, _ fs.DirEntry, err error) error {
		if err != nil || path == name {
			return err
		}
		return root.Lchown(system(path), o.uid, o.gid)
	})
	if err != nil {
		return err
	}
	return root.Lchown(name, o.uid, o.gid)
}
