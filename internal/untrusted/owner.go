package untrusted

import (
	"errors"
	"io/fs"
	"os"
)

// Owner is to whom a working directory belongs, where the server, as root, may write and
// read what that user may not. A nil Owner is where the system sees to that itself.
type Owner struct {
	uid, gid int
	// codeUID and codeGID are who the code runs as behind a wall, else root: the same
	// as the owner, but for files of others in a directory that sessions share.
	codeUID, codeGID int
	// everybodys says that the directory is root's and for all to write.
	everybodys bool
}

// NewOwner returns the owner of what is written into a directory. Where the code runs as
// another user than the server, code is a file of that user, else nil.
func NewOwner(dir, code fs.FileInfo) *Owner {
	o := &Owner{}
	o.uid, o.gid = idsOf(dir)
	if code == nil {
		return o
	}
	o.codeUID, o.codeGID = idsOf(code)
	if o.codeUID != 0 { // what is written is the code's, whosever the directory is
		o.everybodys = o.uid == 0
		o.uid, o.gid = o.codeUID, o.codeGID
	}
	return o
}

// ErrImpersonate says that this process may not act as another user.
var ErrImpersonate = errors.New("the server can't open files as the interpreter's user; it lacks the capabilities SETUID and SETGID")

// take gives an open file to the owner. It is the file itself that is given, and not
// what has its name by now.
func (o *Owner) take(file *os.File) error {
	if o == nil {
		return nil
	}
	return file.Chown(o.uid, o.gid)
}

// takeDir gives a directory to the owner. Should code have put something else in its
// place, that is a directory below root too, or it is not touched.
func (o *Owner) takeDir(root *os.Root, name string) error {
	if o == nil {
		return nil
	}
	dir, err := openOnlyDir(root, name)
	if err != nil {
		return err
	}
	return errors.Join(dir.Chown(".", o.uid, o.gid), dir.Close())
}

// takeLink gives a link to the owner, and never what it leads to.
func (o *Owner) takeLink(root *os.Root, name string) error {
	if o == nil {
		return nil
	}
	return root.Lchown(name, o.uid, o.gid)
}

// mayRead refuses what the code could not read: it can make a hard link to a file
// that it may not read, and root would read it for the code.
func (o *Owner) mayRead(name string, info fs.FileInfo) error {
	if !o.permitted(info, 0o004) {
		return &fs.PathError{Op: "open", Path: name, Err: fs.ErrPermission}
	}
	return nil
}

// ErrOthers says that a file or a directory is another session's, or the operator's.
var ErrOthers = errors.New("it belongs to another user than this interpreter's; give another name")

// mayReplace refuses to put something in the place of a file of others.
func (o *Owner) mayReplace(info fs.FileInfo) error {
	if uid, _ := idsOf(info); o != nil && o.everybodys && uid != o.codeUID {
		return ErrOthers
	}
	return nil
}

// mayWriteTo refuses to put something into a directory of others that the code may not
// write to. The kernel would, too, with less to go on with.
func (o *Owner) mayWriteTo(dir fs.FileInfo) error {
	if !o.permitted(dir, 0o002) {
		return ErrOthers
	}
	return nil
}

// permitted reports whether the code has a right, given as the bit for all others.
func (o *Owner) permitted(info fs.FileInfo, bit fs.FileMode) bool {
	mode := info.Mode().Perm()
	if o == nil || o.codeUID == 0 || mode&bit != 0 {
		return true
	}
	uid, gid := idsOf(info)
	return uid == o.codeUID || gid == o.codeGID && mode&(bit<<3) != 0
}
