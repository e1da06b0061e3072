package sessions

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// Upload is a file that was put into a working directory.
type Upload struct {
	InterpreterID string `json:"interpreter_id"`
	// Path is relative to the working directory, with slashes; File is absolute.
	Path string `json:"path"`
	File string `json:"file"`
	Size int    `json:"size"` // bytes
	// Replaced is true when there was a file of that name.
	Replaced bool `json:"replaced,omitempty"`
}

// Upload writes a file into the working directory of a session, or of the
// client's default one, which is made if need be. Readers see the old file or
// the new one and nothing between. It waits for no running code. In a directory
// that is not the session's own it replaces only what it has uploaded itself.
func (m *Manager) Upload(ctx context.Context, client Client, id, name string, data []byte) (*Upload, error) {
	local, err := localPath(name)
	if err != nil {
		return nil, err
	}
	if local == "." || os.IsPathSeparator(name[len(name)-1]) {
		return nil, Errorf(CodeInvalid, "path %q must name a file", name)
	}
	ctx, depart := m.attend(ctx, client)
	defer depart()
	s, err := m.session(ctx, client, id)
	if err != nil {
		return nil, err
	}
	u, err := s.upload(ctx, local, data)
	if err != nil && client == Anonymous && id == "" {
		m.discard(ctx, s)
	}
	return u, err
}

func (s *Session) upload(ctx context.Context, local string, data []byte) (*Upload, error) {
	if err := s.verifyUpload(ctx, local, data); err != nil {
		return nil, err
	}
	ctx, leave, err := s.visit(ctx, aUser)
	if err != nil {
		return nil, err
	}
	defer leave()
	if err := s.admit(ctx); err != nil { // first: what is written belongs to whom the directory belongs to
		return nil, err
	}
	root, err := s.openWorkdir()
	if err != nil {
		return nil, err
	}
	defer func() { _ = root.Close() }() // what was written is closed by itself
	u := &Upload{InterpreterID: s.name, Path: filepath.ToSlash(local), File: filepath.Join(s.workdir, local), Size: len(data)}
	to, err := s.ownerOf(root)
	if err != nil {
		return nil, err
	}
	err = to.as(func() error {
		u.Replaced, err = put(root, local, data, to, s.mayReplace)
		return err
	})
	if err == nil {
		s.noteUpload(root, local)
	}
	return u, err
}

// errNotUploaded says that a file may be a user's.
var errNotUploaded = errors.New("there is a file of that name, which no upload of this interpreter wrote; give another path, or delete it with code first")

// mayReplace refuses to put something in the place of a file that this session has not
// uploaded, or that has changed since, where others than the session have their files.
func (s *Session) mayReplace(local string, there fs.FileInfo) error {
	if s.options.Workdir == "" {
		return nil
	}
	s.mu.Lock()
	mine := s.uploaded[local]
	s.mu.Unlock()
	if mine != nil && os.SameFile(mine, there) && mine.ModTime().Equal(there.ModTime()) && mine.Size() == there.Size() {
		return nil
	}
	return errNotUploaded
}

// noteUpload remembers what was uploaded.
func (s *Session) noteUpload(root *os.Root, local string) {
	info, err := root.Lstat(local)
	if s.options.Workdir == "" || err != nil { // it is gone already
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.uploaded == nil {
		s.uploaded = map[string]fs.FileInfo{}
	}
	s.uploaded[local] = info
}

// verifyUpload asks whether a module may be there: code could import it, and what is
// imported nobody asks about.
func (s *Session) verifyUpload(ctx context.Context, local string, data []byte) error {
	if extension := strings.ToLower(filepath.Ext(local)); s.options.Verifier == nil || extension != ".py" && extension != ".pyw" {
		return nil
	}
	_, err := s.options.Verifier.Verify(ctx, s.owner(), RunsFile, string(data))
	var refused *Error
	switch {
	case errors.Is(err, ErrSyntax):
		return Errorf(CodeRefused, "%q was not written: code could import it, and it is no valid Python, so that it can't be checked against the policy of this server; if it is to be read only, give it another ending", filepath.ToSlash(local))
	case errors.As(err, &refused):
		return &Error{Code: refused.Code, Message: fmt.Sprintf("%q was not written, as code could import it. %s", filepath.ToSlash(local), refused.Message), Err: refused.Err}
	}
	return err
}

// put writes a file by way of a temporary one beside it. The file belongs to whom the
// working directory belongs to.
func put(root *os.Root, local string, data []byte, to *owner, mayReplace func(string, fs.FileInfo) error) (replaced bool, err error) {
	if err := makeParents(root, local, to); err != nil {
		return false, unwritable(local, err)
	}
	dir, err := root.OpenRoot(filepath.Dir(local) + string(filepath.Separator) + ".") // a directory, or an error: what is checked is what is written to
	if err != nil {
		return false, unwritable(local, err)
	}
	defer func() { _ = dir.Close() }() // what was written is closed by itself
	name := filepath.Base(local)
	check := func() (fs.FileInfo, error) { return replaceable(dir, name, local, to, mayReplace) }
	there, err := check()
	if err == nil {
		replaced, err = putNew(dir, name, data, there, to, check)
	}
	var told *Error
	switch {
	case errors.As(err, &told):
		return false, err
	case err != nil:
		return false, unwritable(local, err)
	}
	return replaced, nil
}

// replaceable returns the file of that name in dir, which an upload may replace, or nil
// if there is none.
func replaceable(dir *os.Root, name, local string, to *owner, mayReplace func(string, fs.FileInfo) error) (fs.FileInfo, error) {
	info, err := dir.Lstat(name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, nil
	case err != nil:
		return nil, err
	case info.IsDir():
		return nil, Errorf(CodeInvalid, "path %q is a directory; give the name of a file in it", filepath.ToSlash(local))
	case !info.Mode().IsRegular():
		return nil, Errorf(CodeInvalid, "path %q is no regular file (%s) and is not replaced; give another name", filepath.ToSlash(local), info.Mode().Type())
	}
	if err := to.mayReplace(info); err != nil {
		return nil, err
	}
	return info, mayReplace(local, info)
}

// putNew writes a file beside the one of that name in dir, and gives it the name, in
// place of what is there. What has come there meanwhile is replaced only if check, which
// returns it, allows that.
func putNew(dir *os.Root, name string, data []byte, there fs.FileInfo, to *owner, check func() (fs.FileInfo, error)) (replaced bool, err error) {
	its, err := dir.Stat(".")
	if err != nil {
		return false, err
	}
	if err := to.mayWriteTo(its); err != nil {
		return false, err
	}
	mode := fs.FileMode(0o644)
	if there != nil {
		mode = there.Mode().Perm()
	}
	beside := ".upload-" + rand.Text()
	defer func() { _ = dir.Remove(beside) }() // it is not there any more if it was renamed
	if err := writeNew(dir, beside, data, mode, to); err != nil {
		return false, err
	}
	if there == nil && dir.Link(beside, name) == nil { // which replaces nothing
		return false, nil
	}
	// Something is there, or the file system has no links.
	if there, err = check(); err != nil {
		return false, err
	}
	return there != nil, dir.Rename(beside, name)
}

// writeNew writes a file that is not there yet. Its mode and its owner are set by its
// descriptor: code may put another file in its place meanwhile.
func writeNew(root *os.Root, name string, data []byte, mode fs.FileMode, to *owner) error {
	file, err := root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = file.Write(data)
	if err == nil {
		err = to.take(file)
	}
	if err == nil {
		err = file.Chmod(mode)
	}
	return errors.Join(err, file.Close())
}

func unwritable(local string, err error) error {
	cause := err
	var at *fs.PathError
	var link *os.LinkError
	if errors.As(err, &at) {
		cause = at.Err
	} else if errors.As(err, &link) {
		cause = link.Err
	}
	return Errorf(CodeInvalid, "%q could not be written into the working directory: %v", filepath.ToSlash(local), cause)
}
