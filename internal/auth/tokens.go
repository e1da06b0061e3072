package auth

import (
	"bytes"
	"crypto/sha256"
	"crypto/subtle"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"runtime"
	"sync"
	"time"
)

// shortestToken is how long a token of the file must be, in characters. The
// file has plain hashes, which are safe for random tokens and for nothing that
// somebody thought of: those of understudy token have 47.
const shortestToken = 32

// Tokens are the bearer tokens of a file. The file is read again when it has
// changed; one with a mistake in it leaves the tokens as they were, one that is
// gone for longer than a moment locks everybody out.
type Tokens struct {
	path string
	log  *slog.Logger
	now  func() time.Time

	mu      sync.Mutex
	entries []entry
	text    []byte    // of the entries; nil when they are of no file
	looked  time.Time // when the file was last looked at
	trouble string    // why it could not be used, as it was last logged
	missed  time.Time // when the file was first found missing; zero while it is there
}

// lookEvery is how long a change of the file may go unseen.
const lookEvery = time.Second

// goneFor is how long the tokens hold while there is no file: editors and secret
// stores put a new one in its place, and in between there may be none.
const goneFor = 10 * time.Second

// OpenTokens reads the file. It must have a token, and nobody but its owner may
// be able to change it.
func OpenTokens(path string, log *slog.Logger) (*Tokens, error) {
	return openTokens(path, log, time.Now)
}

func openTokens(path string, log *slog.Logger, now func() time.Time) (*Tokens, error) {
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	t := &Tokens{path: path, log: log, now: now}
	if _, err := t.read(); err != nil {
		return nil, fmt.Errorf("token file %s: %w", path, err)
	}
	if len(t.entries) == 0 {
		return nil, fmt.Errorf("token file %s has no token; make one with: understudy token NAME --add-to %s", path, path)
	}
	t.looked = now()
	return t, nil
}

// Count returns how many tokens there are.
func (t *Tokens) Count() int { return len(t.current()) }

// verify returns the name of the token's owner; "" for a token that isn't of
// the file.
func (t *Tokens) verify(token, scope string) (string, *Refusal) {
	if len(token) < shortestToken {
		return "", nil
	}
	e := find(t.current(), sha256.Sum256([]byte(token)))
	switch {
	case e == nil:
		return "", nil
	case e.expired(t.now()):
		return "", invalid("the token has expired")
	case !e.good(scope):
		return "", tooLittle([]string{scope})
	}
	return e.name, nil
}

// find compares hash with all of them, so that its time says nothing.
func find(entries []entry, hash [sha256.Size]byte) *entry {
	var found *entry
	for i := range entries {
		if subtle.ConstantTimeCompare(entries[i].hash[:], hash[:]) == 1 {
			found = &entries[i]
		}
	}
	return found
}

// current returns the tokens, read again if the file has changed. The slice is
// never written to.
func (t *Tokens) current() []entry {
	t.mu.Lock()
	defer t.mu.Unlock()
	now := t.now()
	if now.Sub(t.looked) < lookEvery {
		return t.entries
	}
	t.looked = now
	before := len(t.entries)
	changed, err := t.read()
	t.miss(err, now)
	switch {
	case err != nil && err.Error() != t.trouble:
		t.trouble = err.Error()
		t.log.Error("the token file can't be used; the tokens stay as they were, unless it is gone for longer", "file", t.path, "error", err)
	case err == nil && (changed || t.trouble != ""):
		t.trouble = ""
		t.log.Info("token file read again", "file", t.path, "tokens", len(t.entries), "before", before)
	}
	return t.entries
}

// miss forgets all tokens once the file has been missing for a while.
func (t *Tokens) miss(err error, now time.Time) {
	switch {
	case !errors.Is(err, fs.ErrNotExist):
		t.missed = time.Time{}
	case t.missed.IsZero():
		t.missed = now
	case now.Sub(t.missed) >= goneFor && t.entries != nil:
		t.log.Error("the token file is gone; nobody comes in with a token of it until it is there again", "file", t.path)
		t.entries, t.text = nil, nil // the same file may come back
	}
}

// read takes over what the file says if that is new. The file is small, and its time
// tells less of it than its text.
func (t *Tokens) read() (changed bool, err error) {
	info, err := os.Stat(t.path)
	if err != nil {
		return false, err
	}
	if err := t.guarded(info); err != nil {
		return false, err
	}
	text, err := os.ReadFile(t.path)
	if err != nil || t.text != nil && bytes.Equal(text, t.text) {
		return false, err
	}
	entries, err := parseEntries(text)
	if err != nil {
		return false, err
	}
	t.text, t.entries = text, entries
	return true, nil
}

// guarded refuses a file that others could write a token into.
func (t *Tokens) guarded(info fs.FileInfo) error {
	if !info.Mode().IsRegular() {
		return errors.New("it is not a regular file")
	}
	mode := info.Mode().Perm()
	if runtime.GOOS == "windows" {
		return nil // has access lists, which Go doesn't show
	}
	if mode&0o022 != 0 {
		return fmt.Errorf("others than its owner can write to it (mode %#o); chmod go-w %s", mode, t.path)
	}
	if mode&0o004 != 0 && t.text == nil { // said once
		t.log.Warn("the token file can be read by everybody; its hashes don't give the tokens away, but nobody needs them", "file", t.path, "mode", fmt.Sprintf("%#o", mode))
	}
	return nil
}
