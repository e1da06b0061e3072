package sessions

import (
	"context"
	"crypto/rand"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
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
// the new one and nothing between. It waits for no running code.
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
	_, leave, err := s.visit(ctx, aUser)
	if err != nil {
		return nil, err
	}
	defer leave()
	root, err := s.openWorkdir()
	if err != nil {
		return nil, err
	}
	defer func() { _ = root.Close() }() // what was written is closed by itself
	u := &Upload{InterpreterID: s.id, Path: filepath.ToSlash(local), File: filepath.Join(s.workdir, local), Size: len(data)}
	u.Replaced, err = put(root, local, data)
	return u, err
}

// put writes a file by way of a temporary one beside it.
func put(root *os.Root, local string, data []byte) (replaced bool, err error) {
	if err := root.MkdirAll(filepath.Dir(local), 0o755); err != nil {
		return false, unwritable(local, err)
	}
	mode := fs.FileMode(0o644)
	info, err := root.Lstat(local)
	switch {
	case err == nil && info.IsDir():
		return false, Errorf(CodeInvalid, "path %q is a directory; give the name of a file in it", filepath.ToSlash(local))
	case err == nil && !info.Mode().IsRegular():
		return false, Errorf(CodeInvalid, "path %q is no regular file (%s) and is not replaced; give another name", filepath.ToSlash(local), info.Mode().Type())
	case err == nil:
		replaced, mode = true, info.Mode().Perm()
	case !errors.Is(err, fs.ErrNotExist):
		return false, unwritable(local, err)
	}
	beside := filepath.Join(filepath.Dir(local), ".upload-"+rand.Text())
	err = root.WriteFile(beside, data, 0o600)
	if err == nil {
		err = root.Chmod(beside, mode)
	}
	if err == nil {
		err = root.Rename(beside, local)
	}
	if err != nil {
		_ = root.Remove(beside) // it may not be there
		return false, unwritable(local, err)
	}
	return replaced, nil
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
