package auth

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"
)

// The scopes that a line of the file may name.
const (
	ScopeMCP     = "mcp"     // to call tools
	ScopeMetrics = "metrics" // to read the metrics
	ScopeGateway = "gateway" // to pass on what others send; a line must name it
)

// entry is one line of the file: a named token, of which it has the hash.
type entry struct {
	name    string
	hash    [sha256.Size]byte
	scopes  []string  // empty: all but that of gateways
	expires time.Time // zero: never
	line    int
}

// good reports whether the token may be used for scope.
func (e *entry) good(scope string) bool {
	return len(e.scopes) == 0 && scope != ScopeGateway || slices.Contains(e.scopes, scope)
}

func (e *entry) expired(now time.Time) bool {
	return !e.expires.IsZero() && !now.Before(e.expires)
}

// String writes the entry as a line of the file.
func (e *entry) String() string {
	line := e.name + " " + hashPrefix + hex.EncodeToString(e.hash[:])
	if len(e.scopes) > 0 {
		line += " scopes=" + strings.Join(e.scopes, ",")
	}
	if !e.expires.IsZero() {
		line += " expires=" + e.expires.UTC().Format(time.RFC3339)
	}
	return line
}

const hashPrefix = "sha256:"

// mostEntries bounds the file: every request is compared with all of it.
const mostEntries = 1000

// principalName is what a token's owner may be called: short, and nothing that
// could be mistaken for an issuer's principal.
var principalName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._@-]{0,63}$`)

// parseEntries reads the lines of a token file:
//
//	NAME sha256:HASH [scopes=mcp,metrics] [expires=2027-01-31]
//
// Blank lines and lines that begin with # are passed over. All mistakes are
// told, each with its line.
func parseEntries(text []byte) ([]entry, error) {
	var entries []entry
	var mistakes []error
	lines := bufio.NewScanner(bytes.NewReader(text))
	for number := 1; lines.Scan(); number++ {
		line := strings.TrimSpace(lines.Text())
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		e, err := parseEntry(line)
		e.line = number
		if err == nil {
			err = unlike(e, entries)
		}
		if err != nil {
			mistakes = append(mistakes, fmt.Errorf("line %d: %w", number, err))
			continue
		}
		entries = append(entries, e)
	}
	if err := lines.Err(); err != nil {
		mistakes = append(mistakes, err)
	}
	if len(entries) > mostEntries {
		mistakes = append(mistakes, fmt.Errorf("it has %d tokens, and at most %d are taken; use --auth-issuer for so many", len(entries), mostEntries))
	}
	return entries, errors.Join(mistakes...)
}

func parseEntry(line string) (entry, error) {
	fields := strings.Fields(line)
	e := entry{name: fields[0]}
	if !principalName.MatchString(e.name) {
		return e, errors.New("the first word must be a name of up to 64 letters, digits and . _ @ -")
	}
	if len(fields) < 2 {
		return e, fmt.Errorf("%s has no hash; understudy token %s makes a token and its line", e.name, e.name)
	}
	digest, isHash := strings.CutPrefix(fields[1], hashPrefix)
	raw, err := hex.DecodeString(digest)
	if !isHash || err != nil || len(raw) != sha256.Size {
		// What stands there may be the token itself and is not repeated.
		return e, fmt.Errorf("the second word must be sha256: and 64 hexadecimal digits, the hash of the token of %s and never the token; understudy token %s makes both", e.name, e.name)
	}
	copy(e.hash[:], raw)
	for _, field := range fields[2:] {
		if err := e.set(field); err != nil {
			return e, err
		}
	}
	return e, nil
}

// set reads an optional field.
func (e *entry) set(field string) error {
	name, value, _ := strings.Cut(field, "=")
	switch {
	case name == "scopes" && e.scopes == nil:
		e.scopes = strings.Split(value, ",")
		for _, s := range e.scopes {
			if s != ScopeMCP && s != ScopeMetrics && s != ScopeGateway {
				return fmt.Errorf("a scope of %s is none of %s, %s and %s; write scopes=%s", e.name, ScopeMCP, ScopeMetrics, ScopeGateway, ScopeMCP)
			}
		}
	case name == "expires" && e.expires.IsZero():
		var err error
		if e.expires, err = ParseDay(value); err != nil {
			return err
		}
	default:
		return fmt.Errorf("after the hash of %s only scopes=… and expires=… may stand, each once", e.name)
	}
	return nil
}

// ParseDay reads a moment: a day, as 2027-01-31, that is meant to its end
// (UTC), or a time as RFC 3339 has it.
func ParseDay(text string) (time.Time, error) {
	if day, err := time.Parse(time.DateOnly, text); err == nil {
		return day.AddDate(0, 0, 1), nil
	}
	moment, err := time.Parse(time.RFC3339, text)
	if err != nil {
		return moment, fmt.Errorf("%q is not a day; write 2027-01-31, or 2027-01-31T12:00:00Z", text)
	}
	return moment, nil
}

// unlike refuses an entry whose name or hash another one has: a name is one
// principal, and one token is not two.
func unlike(e entry, others []entry) error {
	for i := range others {
		switch o := &others[i]; {
		case o.name == e.name:
			return fmt.Errorf("the name %s stands in line %d too", e.name, o.line)
		case o.hash == e.hash:
			return fmt.Errorf("%s has the same token as %s in line %d; make one for each", e.name, o.name, o.line)
		}
	}
	return nil
}
