package sessions

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
)

// owner is to whom a working directory belongs, where the server, as root, may write and
// read what that user may not. A nil owner is where the system sees to that itself.
type owner struct {
	uid, gid int
	// codeUID and codeGID are who the code runs as behind a wall, else root: the same
	// as the owner, but for files of others in a directory that sessions share.
	codeUID, codeGID int
	// everybodys says that the directory is root's and for all to write.
	everybodys bool
}

// ownerOf returns to whom the session's working directory belongs.
func (s *Session) ownerOf(workdir *os.Root) (*owner, error) {
	if os.Geteuid() != 0 {
		return nil, nil
	}
	info, err := workdir.Stat(".")
	if err != nil {
		return nil, err
	}
	o := &owner{}
	o.uid, o.gid = idsOf(info)
	if s.options.confiner() == nil {
		return o, nil
	}
	root, err := s.options.homes.open(s.options)
	if err != nil {
		return nil, err
	}
	tmp, err := root.Lstat(filepath.Join(homeName(s.family.id), homeTmp)) // the wall has given it to the code
	if err != nil {
		return nil, err
	}
	o.codeUID, o.codeGID = idsOf(tmp)
	if o.codeUID != 0 { // what is written is the session's, whosever the directory is
		o.everybodys = o.uid == 0
		o.uid, o.gid = o.codeUID, o.codeGID
	}
	return o, nil
}

// take gives an open file to the owner. It is the file itself that is given, and not
// what has its name by now.
func (o *owner) take(file *os.File) error {
	if o == nil {
		return nil
	}
	return file.Chown(o.uid, o.gid)
}

// takeDir gives a directory to the owner. Should code have put something else in its
// place, that is a directory below root too, or it is not touched.
func (o *owner) takeDir(root *os.Root, name string) error {
	if o == nil {
		return nil
	}
	dir, err := root.OpenRoot(name + string(filepath.Separator) + ".") // nothing but a directory
	if err != nil {
		return err
	}
	return errors.Join(dir.Chown(".", o.uid, o.gid), dir.Close())
}

// takeLink gives a link to the owner, and never what it leads to.
func (o *owner) takeLink(root *os.Root, name string) error {
	if o == nil {
		return nil
	}
	return root.Lchown(name, o.uid, o.gid)
}

// mayRead refuses what the code could not read: it can make a hard link to a file
// that it may not read, and root would read it for the code.
func (o *owner) mayRead(name string, info fs.FileInfo) error {
	if o == nil || o.codeUID == 0 || info.Mode().Perm()&0o004 != 0 {
		return nil
	}
	uid, gid := idsOf(info)
	if uid == o.codeUID || gid == o.codeGID && info.Mode().Perm()&0o040 != 0 {
		return nil
	}
	return &fs.PathError{Op: "open", Path: name, Err: fs.ErrPermission}
}

// errOthers says that a file or a directory is another session's, or the operator's.
var errOthers = errors.New("it belongs to another user than this interpreter's; give another name")

// mayReplace refuses to put something in the place of a file of others.
func (o *owner) mayReplace(info fs.FileInfo) error {
	if uid, _ := idsOf(info); o != nil && o.everybodys && uid != o.codeUID {
		return errOthers
	}
	return nil
}

// mayWriteTo refuses to put something into a directory of others that the code may not
// write to. The kernel would, too, with less to go on with.
func (o *owner) mayWriteTo(info fs.FileInfo) error {
	if o == nil || o.codeUID == 0 || info.Mode().Perm()&0o002 != 0 {
		return nil
	}
	uid, gid := idsOf(info)
	if uid == o.codeUID || gid == o.codeGID && info.Mode().Perm()&0o020 != 0 {
		return nil
	}
	return errOthers
}

// makeParents makes the directories that are missing on the way to a file, and gives
// them to the owner.
func makeParents(root *os.Root, local string, to *owner) error {
	dir := filepath.Dir(local)
	if dir == "." {
		return nil
	}
	if info, err := root.Stat(dir); err == nil && info.IsDir() {
		return nil
	}
	if err := makeParents(root, dir, to); err != nil {
		return err
	}
	above, err := root.Stat(filepath.Dir(dir))
	if err != nil {
		return err
	}
	if err := to.mayWriteTo(above); err != nil {
		return err
	}
	err = root.Mkdir(dir, 0o755)
	if errors.Is(err, fs.ErrExist) {
		if info, failed := root.Stat(dir); failed == nil && info.IsDir() {
			return nil // made meanwhile, by somebody else
		}
	}
	if err != nil {
		return err
	}
	return to.takeDir(root, dir)
}
