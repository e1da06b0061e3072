package upstream

import (
	"bytes"
	"cmp"
	"encoding/json"
	"maps"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"
)

// secrets are what no log, error or answer may have of a server's entry. Errors and logs
// lose every value; answers only those that are secrets by their names, for a directory
// in env is what paths in answers begin with.
type secrets struct {
	all, deep []string
}

// secretLength is how long a value must be to be told from a common word.
const secretLength = 6

func (s *secrets) add(values ...string) {
	for _, value := range values {
		s.all = appendForms(s.all, value)
	}
}

func (s *secrets) addDeep(value string) {
	s.deep = appendForms(s.deep, value)
	if _, token, found := strings.Cut(value, " "); found { // Bearer, Basic
		s.deep, s.all = appendForms(s.deep, token), appendForms(s.all, token)
	}
}

// appendForms adds a value as it is, as JSON and as URLs have it, the longest first.
func appendForms(to []string, value string) []string {
	if len(value) < secretLength {
		return to
	}
	quoted, _ := json.Marshal(value)
	for _, form := range []string{value, string(quoted[1 : len(quoted)-1]), url.QueryEscape(value), url.PathEscape(value)} {
		if !slices.Contains(to, form) {
			to = append(to, form)
		}
	}
	slices.SortStableFunc(to, func(a, b string) int { return cmp.Compare(len(b), len(a)) })
	return to
}

var secretName = regexp.MustCompile(`(?i)key|token|secret|passw|pwd|auth|credential|cookie|dsn`)

func namesSecret(name string) bool { return secretName.MatchString(name) }

const masked = "***"

var (
	query    = regexp.MustCompile(`(https?://[^\s"'?]*)\?[^\s"']*`)
	userinfo = regexp.MustCompile(`(https?://)[^/@\s"']+@`)
)

// mask takes the secrets out of a text for a log or an error.
func (s *secrets) mask(text string) string {
	for _, secret := range s.all {
		text = strings.ReplaceAll(text, secret, masked)
	}
	return userinfo.ReplaceAllString(query.ReplaceAllString(text, "$1?"+masked), "${1}"+masked+"@")
}

// tell makes a stranger's text one for a log or an error: masked, then cut, so that no
// part of a secret is left at the end.
func (s *secrets) tell(text string, limit int) string { return visible(clip(s.mask(text), limit)) }

// maskAnswer takes them out of JSON that code is to get.
func (s *secrets) maskAnswer(answer []byte) []byte {
	for _, secret := range s.deep {
		if bytes.Contains(answer, []byte(secret)) {
			answer = bytes.ReplaceAll(answer, []byte(secret), []byte(masked))
		}
	}
	return answer
}

// clip shortens a stranger's text.
func clip(text string, limit int) string {
	if len(text) <= limit {
		return strings.ToValidUTF8(text, "�")
	}
	return strings.ToValidUTF8(text[:limit], "") + "…"
}

// visible shows the characters that a reader would not see, or would be misled by.
func visible(text string) string {
	var b strings.Builder
	for _, r := range text {
		if unicode.IsPrint(r) {
			b.WriteRune(r)
		} else {
			quoted := strconv.QuoteRune(r)
			b.WriteString(quoted[1 : len(quoted)-1])
		}
	}
	return b.String()
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
