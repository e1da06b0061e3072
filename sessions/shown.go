package sessions

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
)

// Figure reads a figure that the session showed, in full resolution, if it has
// at most most bytes. The name is that of its file, without directories. Its errors are
// CodeNotFound and CodeLimit.
func (m *Manager) Figure(ctx context.Context, client Client, id, name string, most int64) (f *File, figure Figure, err error) {
	f, err = m.readMade(ctx, client, id, "shown no figure", name, Range{}, most, func(e *execution) (path string) {
		for _, shown := range e.transcript.Inventory().Figures {
			if filepath.Base(shown.Path) == name {
				figure, path = shown, shown.Path
			}
		}
		return path
	})
	return f, figure, err
}

// Artifact reads an artifact that the session has kept: the whole of one that has
// at most most bytes, or the lines that r asks for. Of several of a name it is the
// newest, which has taken the place of the others. Its errors are CodeNotFound, CodeLimit
// and, for r, CodeInvalid.
func (m *Manager) Artifact(ctx context.Context, client Client, id, name string, r Range, most int64) (f *File, artifact Artifact, err error) {
	f, err = m.readMade(ctx, client, id, "kept no artifact", name, r, most, func(e *execution) (path string) {
		for _, kept := range e.transcript.Inventory().Artifacts {
			if kept.Name == name {
				artifact, path = kept, kept.Path
			}
		}
		return path
	})
	return f, artifact, err
}

// readMade reads a file that an execution has made: the newest one whose path an execution
// gives. hasNone says what the session has not done where there is none.
func (m *Manager) readMade(ctx context.Context, client Client, id, hasNone, name string, r Range, most int64, pathOf func(*execution) string) (*File, error) {
	ctx, s, root, leave, err := m.enterFiles(ctx, client, id, aUser, false)
	if err != nil {
		return nil, err
	}
	defer leave()
	path := ""
	for _, e := range slices.Backward(s.history.list()) {
		if path = pathOf(e); path != "" {
			break
		}
	}
	if path == "" {
		return nil, Errorf(CodeNotFound, "interpreter %s has %s %.200q among the executions that are kept", s.name, hasNone, name)
	}
	local, err := s.dirs.Local(path)
	if err != nil {
		return nil, Errorf(CodeNotFound, "%q is not among the files that the server made for the interpreter", name)
	}
	f, err := s.readFile(ctx, root, local, r, most)
	switch CodeOf(err) {
	case CodeNotFound:
		return nil, Errorf(CodeNotFound, "the file of %q is gone", name)
	case CodeLimit:
		return nil, Errorf(CodeLimit, "%w; its file is %s", err, path)
	}
	if err == nil && f.Page != nil {
		f.Page.Path = path
	}
	return f, err
}

// openMade opens a file of which an execution says that it has made it. That is the
// word of the session's code: nothing outside of the private directory is opened.
func (s *Session) openMade(path string) (*os.File, error) {
	local, err := s.dirs.Local(path)
	if err != nil {
		return nil, err
	}
	root, err := s.openDir(false)
	if err != nil {
		return nil, err
	}
	file, _, err := s.openRegular(root, local)
	return file, errors.Join(err, root.Close())
}
