package sessions

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
)

// Figure reads a figure that the session showed, in full resolution, if it has
// at most most bytes. The name is that of its file, without directories.
func (m *Manager) Figure(ctx context.Context, client Client, id, name string, most int64) (*File, Figure, error) {
	ctx, s, root, leave, err := m.enterFiles(ctx, client, id, aUser, false)
	if err != nil {
		return nil, Figure{}, err
	}
	defer leave()
	figure, ok := s.shown(name)
	if !ok {
		return nil, figure, Errorf(CodeNotFound, "interpreter %s has shown no figure %.200q among the executions that are kept", s.name, name)
	}
	f, err := s.readMade(ctx, root, "figure", figure.Path, Range{}, most)
	return f, figure, err
}

// Artifact reads an artifact that the session has kept: the whole of one that has
// at most most bytes, or the lines that r asks for. Of several of a name it is the
// newest, which has taken the place of the others.
func (m *Manager) Artifact(ctx context.Context, client Client, id, name string, r Range, most int64) (*File, Artifact, error) {
	ctx, s, root, leave, err := m.enterFiles(ctx, client, id, aUser, false)
	if err != nil {
		return nil, Artifact{}, err
	}
	defer leave()
	artifact, ok := s.kept(name)
	if !ok {
		return nil, artifact, Errorf(CodeNotFound, "interpreter %s has kept no artifact %.200q among the executions that are kept", s.name, name)
	}
	f, err := s.readMade(ctx, root, "artifact", artifact.Path, r, most)
	return f, artifact, err
}

// readMade reads a file that an execution has made, and says what it is, with its
// name, where it can't be read.
func (s *Session) readMade(ctx context.Context, root *os.Root, what, path string, r Range, most int64) (*File, error) {
	name := filepath.Base(path)
	local, err := s.dirs.Local(path)
	if err != nil {
		return nil, Errorf(CodeNotFound, "%s %q is not among the files that the server made for the interpreter", what, name)
	}
	f, err := s.readFile(ctx, root, local, r, most)
	switch CodeOf(err) {
	case CodeNotFound:
		return nil, Errorf(CodeNotFound, "the file of %s %q is gone", what, name)
	case CodeLimit:
		part := ""
		if what == "artifact" {
			part = "; a text can be read in parts, as in ?from=1&lines=500"
		}
		return nil, Errorf(CodeLimit, "%s %q is larger than the %d bytes that one answer holds%s; its file is %s", what, name, most, part, path)
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

// shown finds a figure by the name of its file, the newest first.
func (s *Session) shown(name string) (Figure, bool) {
	for _, e := range slices.Backward(s.history.list()) {
		for _, f := range e.transcript.Inventory().Figures {
			if filepath.Base(f.Path) == name {
				return f, true
			}
		}
	}
	return Figure{}, false
}

// kept finds an artifact by its name, the newest first.
func (s *Session) kept(name string) (Artifact, bool) {
	for _, e := range slices.Backward(s.history.list()) {
		for _, a := range slices.Backward(e.transcript.Inventory().Artifacts) {
			if a.Name == name {
				return a, true
			}
		}
	}
	return Artifact{}, false
}
