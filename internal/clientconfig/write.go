package clientconfig

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"
)

// Change says what Install did.
type Change struct {
	Path string
	// Backup is the copy of the file as it was; "" if there was none to keep.
	Backup string
	// Changed is false when the file held the server already.
	Changed bool
}

// bom is what some Windows editors put before UTF-8; clients skip it.
var bom = []byte("\ufeff")

// Install writes the server into the client's file, after a backup. The file
// is replaced in one step, so a client never reads half of it.
func (c Client) Install(path string, scope Scope, server Server) (Change, error) {
	change := Change{Path: path}
	file, err := target(path)
	if err != nil {
		return change, err
	}
	before, mode, err := read(file, scope)
	if err != nil {
		return change, err
	}
	after, err := c.merge(before, server)
	if err != nil {
		return change, fmt.Errorf("%s: %w\nNothing was changed", path, err)
	}
	if bytes.Equal(before, after) {
		return change, nil
	}
	if before != nil {
		if change.Backup, err = backup(file, before, mode); err != nil {
			return change, fmt.Errorf("keeping a backup: %w", err)
		}
	}
	change.Changed = true
	return change, replace(file, after, mode)
}

// merge handles what the formats have in common: the mark of Windows editors,
// and files with nothing in them.
func (c Client) merge(before []byte, server Server) ([]byte, error) {
	text, marked := bytes.CutPrefix(before, bom)
	if len(bytes.TrimSpace(text)) == 0 {
		return c.format.snippet(server)
	}
	after, err := c.format.merge(text, server)
	if err == nil && marked {
		after = append(bytes.Clone(bom), after...)
	}
	return after, err
}

// target follows symbolic links, so that the file they lead to is replaced
// and not the link. The file itself need not exist.
func target(path string) (string, error) {
	for range 40 { // as many links as Linux follows
		link, err := os.Readlink(path)
		if err != nil {
			return path, nil // not a link, or nothing there
		}
		if !filepath.IsAbs(link) {
			link = filepath.Join(filepath.Dir(path), link)
		}
		path = link
	}
	return "", fmt.Errorf("%s: too many symbolic links", path)
}

// read returns the file, nil if there is none, and the mode to write it with.
// A user's new file is private: people add keys and tokens to it.
func read(path string, scope Scope) ([]byte, fs.FileMode, error) {
	info, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		if scope == User {
			return nil, 0o600, nil
		}
		return nil, 0o644, nil
	}
	if err != nil {
		return nil, 0, err
	}
	content, err := os.ReadFile(path)
	if content == nil {
		content = []byte{}
	}
	return content, info.Mode().Perm(), err
}

// backup copies the file beside itself, under a name that is not taken.
func backup(path string, content []byte, mode fs.FileMode) (string, error) {
	name := path + ".bak-" + time.Now().Format("20060102-150405")
	for attempt := 1; ; attempt++ {
		candidate := name
		if attempt > 1 {
			candidate = fmt.Sprintf("%s-%d", name, attempt)
		}
		file, err := os.OpenFile(candidate, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
		if errors.Is(err, fs.ErrExist) && attempt < 1000 {
			continue
		}
		if err != nil {
			return "", err
		}
		_, err = file.Write(content)
		return candidate, errors.Join(err, file.Chmod(mode), file.Close()) // whatever the umask
	}
}

// replace puts a complete new file in the place of the old.
func replace(path string, content []byte, mode fs.FileMode) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return fmt.Errorf("making the directory of the configuration: %w", err)
	}
	draft, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+".new-*")
	if err != nil {
		return fmt.Errorf("writing the configuration: %w", err)
	}
	if err := fill(draft, content, mode); err != nil {
		return fmt.Errorf("writing the configuration: %w", errors.Join(err, os.Remove(draft.Name())))
	}
	if err := os.Rename(draft.Name(), path); err != nil {
		return fmt.Errorf("writing the configuration: %w", errors.Join(err, os.Remove(draft.Name())))
	}
	return nil
}

func fill(file *os.File, content []byte, mode fs.FileMode) error {
	_, err := file.Write(content)
	// Synced before the rename, or a crash could leave an empty file.
	return errors.Join(err, file.Chmod(mode), file.Sync(), file.Close())
}
