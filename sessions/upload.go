package sessions

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"understudy/internal/untrusted"
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
	ctx, depart := m.follow(ctx, client)
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
	if err := s.prepareSandbox(ctx); err != nil { // first: what is written belongs to who the code runs as
		return nil, err
	}
	root, err := s.openDir(true)
	if err != nil {
		return nil, err
	}
	defer func() { _ = root.Close() }() // what was written is closed by itself
	u := &Upload{InterpreterID: s.name, Path: filepath.ToSlash(local), File: filepath.Join(s.dirs.Work, local), Size: len(data)}
	err = s.dirs.Do(func() error {
		u.Replaced, err = untrusted.WriteFile(root, local, data, func(there fs.FileInfo) error { return s.mayReplace(local, there) })
		return err
	})
	if err != nil {
		return nil, unwritable(local, err)
	}
	s.noteUpload(root, local)
	return u, nil
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

// unwritable says why a file of a working directory was not written.
func unwritable(local string, err error) error {
	name, cause := filepath.ToSlash(local), err
	var other *untrusted.NotRegularError
	var at *fs.PathError
	var link *os.LinkError
	switch {
	case errors.Is(err, untrusted.ErrImpersonate):
		return err
	case errors.As(err, &other) && other.Type.IsDir():
		return Errorf(CodeInvalid, "path %q is a directory; give the name of a file in it", name)
	case errors.As(err, &other):
		return Errorf(CodeInvalid, "path %q is no regular file (%s) and is not replaced; give another name", name, other.Type)
	case errors.As(err, &at):
		cause = at.Err
	case errors.As(err, &link):
		cause = link.Err
	}
	return Errorf(CodeInvalid, "%q could not be written into the working directory: %v", name, cause)
}
