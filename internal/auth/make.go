package auth

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/gofrs/flock"
)

// tokenPrefix lets scanners of published secrets know ours.
const tokenPrefix = "ust_"

// Made is a new token.
type Made struct {
	// Token is the secret, which is nowhere else.
	Token string
	// Line is what the file has of it.
	Line string
}

// Make makes a token of 256 random bits for the principal name. Scopes may be
// empty for all, expires zero for never.
func Make(name string, scopes []string, expires time.Time) (Made, error) {
	if !principalName.MatchString(name) {
		return Made{}, fmt.Errorf("%q can't be a name: it must have up to 64 letters, digits and . _ @ -, a letter or digit first", name)
	}
	var random [32]byte
	_, _ = rand.Read(random[:]) // never fails, see crypto/rand
	token := tokenPrefix + base64.RawURLEncoding.EncodeToString(random[:])
	e := entry{name: name, hash: sha256.Sum256([]byte(token)), scopes: scopes, expires: expires}
	made := Made{Token: token, Line: e.String()}
	if _, err := parseEntry(made.Line); err != nil {
		return Made{}, err
	}
	return made, nil
}

// Add adds the line of a new token to a file, which is made, for its owner
// alone, if it isn't there, and so is its directory. A file with a mistake in it,
// or with that name, is left as it is. Two that add at once take turns by the
// lock of a file beside it, whose name ends with .lock and which stays.
func Add(path string, made Made) (err error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	// Beside it, as on Windows a locked file can't be read, by a server for one.
	lock := flock.New(path + ".lock")
	if err := lock.Lock(); err != nil {
		return fmt.Errorf("locking the token file: %w", err)
	}
	defer func() { err = errors.Join(err, lock.Unlock()) }()
	return add(path, made)
}

func add(path string, made Made) error {
	text, err := os.ReadFile(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	line := made.Line + "\n"
	if len(text) > 0 && text[len(text)-1] != '\n' {
		line = "\n" + line
	}
	if _, err := parseEntries(append(text, line...)); err != nil {
		return fmt.Errorf("token file %s: %w; nothing was added", path, err)
	}
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o600)
	if err != nil {
		return err
	}
	_, err = file.WriteString(line) // in one piece: a server may be reading
	return errors.Join(err, file.Close())
}
