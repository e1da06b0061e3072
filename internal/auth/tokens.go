package auth

import (
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

	"understudy/internal/reload"
)

// shortestToken is how long a token of the file must be, in characters. The
// file has plain hashes, which are safe for random tokens and for nothing that
// somebody thought of: those of understudy token have 47.
const shortestToken = 32

// goneFor is how long the tokens hold while there is no file: editors and secret
// stores put a new one in its place, and in between there may be none.
const goneFor = 10 * time.Second

// Tokens are the bearer tokens of a file. The file is read again when it has
// changed; one with a mistake in it leaves the tokens as they were, one that is
// gone for longer than a moment locks everybody out.
type Tokens struct {
	path string
	log  *slog.Logger
	now  func() time.Time
	file *reload.File[[]entry]

	mu     sync.Mutex // held while the file is read, too: parse has it
	missed time.Time  // when the file was first found missing; zero while it is there
	out    bool       // nobody comes in: it was gone, and no good one has come since
}

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
	var err error
	t.file, err = reload.Open(path, reload.Options[[]entry]{
		What: "the token file", Parse: t.parse, Logger: log, Now: now,
		Changed: func(e []entry) { log.Info("token file read again", "file", path, "tokens", len(e)) },
	})
	if err != nil {
		return nil, fmt.Errorf("token file %s: %w", path, err)
	}
	if t.Count() == 0 {
		return nil, fmt.Errorf("token file %s has no token; make one with: understudy token NAME --add-to %s", path, path)
	}
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

// current returns the tokens, none once the file has been missing for a while, until a
// good one is read: who was taken out must not come back by a file with a mistake in it.
// The slice is never written to.
func (t *Tokens) current() []entry {
	t.mu.Lock()
	defer t.mu.Unlock()
	entries := t.file.Get()
	_, err := os.Stat(t.path)
	switch now := t.now(); {
	case !errors.Is(err, fs.ErrNotExist):
		t.missed = time.Time{}
	case t.missed.IsZero():
		t.missed = now
	case now.Sub(t.missed) >= goneFor:
		if !t.out {
			t.log.Error("the token file is gone; nobody comes in with a token of it until it is there again", "file", t.path)
		}
		t.out = true
	}
	if t.out {
		return nil
	}
	return entries
}

// parse reads the file's text, and refuses a file that others could write a token into.
func (t *Tokens) parse(text []byte) ([]entry, error) {
	info, err := os.Stat(t.path)
	if err != nil {
		return nil, err
	}
	mode := info.Mode().Perm()
	if runtime.GOOS == "windows" {
		mode = 0 // it has access lists that Go doesn't show
	}
	if mode&0o022 != 0 {
		return nil, fmt.Errorf("others than its owner can write to it (mode %#o); chmod go-w %s", mode, t.path)
	}
	entries, err := parseEntries(text)
	if err != nil {
		return nil, err
	}
	if mode&0o004 != 0 { // said of good files alone: a broken one is read each second
		t.log.Warn("the token file can be read by everybody; its hashes don't give the tokens away, but nobody needs them", "file", t.path, "mode", fmt.Sprintf("%#o", mode))
	}
	t.out = false
	return entries, nil
}
