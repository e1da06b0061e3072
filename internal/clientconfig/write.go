package clientconfig

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/google/renameio/v2/maybe"
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
// is replaced in one step (but on Windows), so a client never reads half of it. It is for
// clients whose files are edited, see Edits.
func (c Client) Install(path string, scope Scope, server Server) (Change, error) {
	change := Change{Path: path}
	file := target(path)
	before, err := os.ReadFile(file)
	absent := errors.Is(err, fs.ErrNotExist)
	if err != nil && !absent {
		return change, err
	}
	text, marked := bytes.CutPrefix(before, bom)
	after, err := c.merge(text, server)
	if err != nil {
		return change, fmt.Errorf("%s: %w\nNothing was changed", path, err)
	}
	if marked {
		after = append(bytes.Clone(bom), after...)
	}
	if bytes.Equal(before, after) {
		return change, nil
	}
	if !absent {
		if change.Backup, err = backup(file, before); err != nil {
			return change, fmt.Errorf("keeping a backup: %w", err)
		}
	}
	change.Changed = true
	return change, replace(file, after, scope)
}

// target is the file that symbolic links lead to, which is replaced while they stay. It
// need not be there.
func target(path string) string {
	for range 40 { // as many links as Linux follows; reading fails where there are more
		link, err := os.Readlink(path)
		if err != nil {
			break // not a link, or nothing there
		}
		if !filepath.IsAbs(link) {
			link = filepath.Join(filepath.Dir(path), link)
		}
		path = link
	}
	return path
}

// backup copies the file beside itself, with its mode, under a name that is not taken.
func backup(path string, content []byte) (string, error) {
	info, err := os.Stat(path)
	if err != nil {
		return "", err
	}
	// The time is to the nanosecond, since two may come in one second.
	name := path + ".bak-" + time.Now().Format("20060102-150405.000000000")
	file, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, info.Mode().Perm())
	if err != nil {
		return "", err
	}
	_, err = file.Write(content)
	return name, errors.Join(err, file.Chmod(info.Mode().Perm()), file.Close()) // whatever the umask
}

// replace puts a complete new file in the place of the old, with its mode. A user's new
// file is private: people add keys and tokens to it.
func replace(path string, content []byte, scope Scope) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return fmt.Errorf("making the directory of the configuration: %w", err)
	}
	mode := fs.FileMode(0o600)
	if scope == Project {
		mode = 0o644
	}
	if err := maybe.WriteFile(path, content, mode); err != nil {
		return fmt.Errorf("writing the configuration: %w", err)
	}
	return nil
}
