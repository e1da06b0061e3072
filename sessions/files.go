package sessions

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"understudy/internal/untrusted"
	"understudy/sessions/output"
)

const (
	mostEntries  = 1_000 // of a directory, that are told
	sniffedBytes = 8_000 // by which text is told from other files
)

// Entry kinds of a FileInfo.
const (
	KindFile      = "file"
	KindDirectory = "directory"
	KindLink      = "link"
	KindOther     = "other"
)

// FileInfo describes an entry of a working directory.
type FileInfo struct {
	// Path is relative to the working directory, with slashes.
	Path string `json:"path"`
	// Kind is one of the constants Kind…; other is what is never opened, as
	// pipes, sockets and devices.
	Kind     string    `json:"type"`
	Size     int64     `json:"size"` // bytes; of files only
	Modified time.Time `json:"modified"`
}

// Directory is what a directory holds, in the order of the names.
type Directory struct {
	Path    string
	Entries []FileInfo
	// Left is how many more there are at least, which are not told.
	Left int
}

// File is a file of a working directory, or a part of it.
type File struct {
	FileInfo
	// Text reports whether it looks like text.
	Text bool
	// Data is the whole file, when the whole was asked for; else Page is set.
	Data []byte
	Page *Page
}

// enterFiles opens the working directory of a session of the client's, or else its private
// one, which stays where it is until leave is called.
func (m *Manager) enterFiles(ctx context.Context, client Client, id string, v visitor, work bool) (visiting context.Context, s *Session, root *os.Root, leave func(), err error) {
	if s, err = m.seen(client, id); err != nil {
		return nil, nil, nil, nil, err
	}
	visiting, leaveSession, err := s.visit(ctx, v)
	if err != nil {
		return nil, nil, nil, nil, err
	}
	if root, err = s.openDir(work); err != nil {
		leaveSession()
		return nil, nil, nil, nil, err
	}
	return visiting, s, root, func() {
		_ = root.Close() // what was written is closed by itself
		leaveSession()
	}, nil
}

func (s *Session) openDir(work bool) (root *os.Root, err error) {
	what := "directory for figures and artifacts"
	if work {
		what = "working directory"
		root, err = s.dirs.OpenWork()
	} else {
		root, err = s.dirs.OpenPrivate()
	}
	if err != nil {
		return nil, Errorf(CodeNotFound, "the %s of interpreter %s can't be opened: %w", what, s.name, err)
	}
	return root, nil
}

// localPath returns the path in the system's form. It must be relative and stay
// inside.
func localPath(name string) (string, error) {
	local := filepath.FromSlash(name)
	switch {
	case name == "":
		return "", Errorf(CodeInvalid, "path must name a file in the working directory, as in data/a.csv")
	case strings.ContainsRune(name, 0):
		return "", Errorf(CodeInvalid, "path must not contain NUL")
	case !utf8.ValidString(name):
		return "", Errorf(CodeInvalid, "path must be UTF-8")
	case len(name) > 4096:
		return "", Errorf(CodeInvalid, "path is %d bytes long, and at most 4096 are taken", len(name))
	case path.IsAbs(name) || filepath.IsAbs(local) || filepath.VolumeName(local) != "":
		return "", Errorf(CodeInvalid, "path %q must be relative to the working directory", name)
	case !filepath.IsLocal(local):
		return "", Errorf(CodeInvalid, "path %q must stay inside the working directory", name)
	}
	return filepath.Clean(local), nil
}

// Files lists a directory below the session's working directory; "" and "." are that
// itself. Its errors are CodeInvalid and CodeNotFound.
func (m *Manager) Files(ctx context.Context, client Client, id, dir string) (*Directory, error) {
	local, err := localPath(cmp.Or(dir, "."))
	if err != nil {
		return nil, err
	}
	ctx, s, root, leave, err := m.enterFiles(ctx, client, id, aUser, true)
	if err != nil {
		return nil, err
	}
	defer leave()
	listed := &Directory{Path: filepath.ToSlash(local), Entries: []FileInfo{}}
	var entries []fs.FileInfo
	err = s.dirs.Do(func() error {
		entries, listed.Left, err = untrusted.List(ctx, root, local, mostEntries)
		return err
	})
	if err != nil {
		return nil, unreadable(listed.Path, err)
	}
	for _, info := range entries {
		listed.Entries = append(listed.Entries, describeFile(filepath.Join(local, info.Name()), info))
	}
	return listed, nil
}

func describeFile(local string, info fs.FileInfo) FileInfo {
	f := FileInfo{Path: filepath.ToSlash(local), Kind: KindOther, Modified: info.ModTime().UTC()}
	switch info.Mode().Type() {
	case 0:
		f.Kind, f.Size = KindFile, info.Size()
	case fs.ModeDir:
		f.Kind = KindDirectory
	case fs.ModeSymlink:
		f.Kind = KindLink
	}
	return f
}

// Stat describes one entry of the working directory, following links that stay inside of
// it. To look does not count as use. Its errors are CodeInvalid and CodeNotFound.
func (m *Manager) Stat(ctx context.Context, client Client, id, name string) (FileInfo, error) {
	local, err := localPath(name)
	if err != nil {
		return FileInfo{}, err
	}
	_, s, root, leave, err := m.enterFiles(ctx, client, id, aWatcher, true)
	if err != nil {
		return FileInfo{}, err
	}
	defer leave()
	var info fs.FileInfo
	err = s.dirs.Do(func() error {
		info, err = root.Stat(local)
		return err
	})
	if err != nil {
		return FileInfo{}, unreadable(name, err)
	}
	return describeFile(local, info), nil
}

// File reads a file of the session's working directory: the whole of one that has at most
// most bytes, or the lines that r asks for. Its errors are CodeInvalid, CodeNotFound and
// CodeLimit.
func (m *Manager) File(ctx context.Context, client Client, id, name string, r Range, most int64) (*File, error) {
	local, err := localPath(name)
	if err != nil {
		return nil, err
	}
	ctx, s, root, leave, err := m.enterFiles(ctx, client, id, aUser, true)
	if err != nil {
		return nil, err
	}
	defer leave()
	f, err := s.readFile(ctx, root, local, r, most)
	if err == nil && f.Page != nil {
		f.Page.Path = filepath.Join(s.dirs.Work, local)
	}
	return f, err
}

func (s *Session) readFile(ctx context.Context, root *os.Root, local string, r Range, most int64) (*File, error) {
	name := filepath.ToSlash(local)
	opened, info, err := s.openRegular(root, local)
	if err != nil {
		return nil, err
	}
	defer func() { _ = opened.Close() }() // it was only read
	f := &File{FileInfo: describeFile(local, info)}
	start := make([]byte, min(sniffedBytes, info.Size()))
	if n, err := io.ReadFull(opened, start); err != nil {
		start = start[:n] // it has shrunk
	}
	f.Text = output.IsText(start)
	switch {
	case !r.IsZero() && !f.Text:
		return nil, Errorf(CodeInvalid, "%q is no text, so it has no lines; read it without from, lines and match", name)
	case !r.IsZero():
		if f.Page, err = output.ReadPage(ctx, opened, info.Size(), r); errors.Is(err, io.ErrUnexpectedEOF) {
			err = Errorf(CodeNotFound, "%q was cut while it was read; try again", name)
		}
		return f, rangeError(err)
	case info.Size() > most:
		return nil, tooLarge(f.FileInfo, f.Text, most)
	}
	rest, err := io.ReadAll(io.LimitReader(opened, most+1-int64(len(start))))
	if err != nil {
		return nil, fmt.Errorf("reading %q: %w", name, err)
	}
	if f.Data = slices.Concat(start, rest); int64(len(f.Data)) > most {
		return nil, tooLarge(f.FileInfo, f.Text, most)
	}
	f.Size = int64(len(f.Data))
	return f, nil
}

func tooLarge(f FileInfo, text bool, most int64) error {
	part := "let code write the part you need into another file"
	if text {
		part = "read a part with from and lines, as in ?from=1&lines=500, or search with match"
	}
	if text && f.Size <= output.ScanBytes {
		part += "; from=-100 counts from the end"
	}
	return Errorf(CodeLimit, "%q is larger (%d bytes) than the %d bytes that one answer holds; %s", f.Path, f.Size, most, part)
}

// openRegular opens a file for reading, if it is one that the code may read.
func (s *Session) openRegular(root *os.Root, local string) (file *os.File, info fs.FileInfo, err error) {
	err = s.dirs.Do(func() error {
		file, info, err = untrusted.OpenFile(root, local)
		return err
	})
	if err != nil {
		return nil, nil, unreadable(filepath.ToSlash(local), err)
	}
	return file, info, nil
}

// unreadable says why a path of a working directory leads nowhere. The error of
// a root names no path outside of it.
func unreadable(name string, err error) error {
	var other *untrusted.NotRegularError
	var at *fs.PathError
	switch {
	case errors.Is(err, untrusted.ErrImpersonate):
		return err
	case errors.Is(err, untrusted.ErrNotDir):
		return Errorf(CodeInvalid, "path %q is not a directory", name)
	case errors.As(err, &other) && other.Type.IsDir():
		return Errorf(CodeInvalid, "%q is a directory; list it with …/files?path=%s", name, name)
	case errors.As(err, &other):
		return Errorf(CodeInvalid, "%q is no regular file (%s), so it is not opened", name, other.Type)
	case errors.Is(err, fs.ErrNotExist):
		return Errorf(CodeNotFound, "there is no %q in the working directory", name)
	case errors.As(err, &at) && strings.Contains(at.Err.Error(), "escapes"): // os keeps that error to itself
		return Errorf(CodeInvalid, "%q leads out of the working directory, and nothing outside of it is opened", name)
	case errors.As(err, &at):
		return Errorf(CodeInvalid, "%q can't be opened: %v", name, at.Err)
	default:
		return fmt.Errorf("opening %q: %w", name, err)
	}
}

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

// Upload writes a file into the working directory of a session, or of the client's default
// one, which is made if need be. Readers see the old file or the new one and nothing
// between. It waits for no running code. In a directory that is not the session's own it
// replaces only what it has uploaded itself. Its errors are CodeInvalid, CodeRefused,
// CodeNotFound, CodeLimit, CodeStart and CodeClosed.
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
	return Errorf(CodeInvalid, "%q could not be written into the working directory: %v; give another path", name, cause)
}
