package auth

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"understudy/internal/reload"
)

// tokenFile writes a file of lines.
func tokenFile(t *testing.T, lines ...string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "tokens")
	write(t, path, lines...)
	return path
}

func write(t *testing.T, path string, lines ...string) {
	t.Helper()
	must(t, os.WriteFile(path, []byte(strings.Join(lines, "\n")+"\n"), 0o600))
}

func made(t *testing.T, name string, scopes []string, expires time.Time) Made {
	t.Helper()
	m, err := Make(name, scopes, expires)
	must(t, err)
	return m
}

func opened(t *testing.T, path string, c *clock, log *journal) *Gate {
	t.Helper()
	tokens, err := openTokens(path, log.logger(), c.time)
	must(t, err)
	return &Gate{Tokens: tokens, Scope: ScopeMCP}
}

func TestTokensOfAFile(t *testing.T) {
	c := newClock()
	alice := made(t, "alice", nil, time.Time{})
	scraper := made(t, "prometheus", []string{ScopeMetrics}, time.Time{})
	guest := made(t, "guest@example.org", []string{ScopeMCP, ScopeMetrics}, c.time().Add(time.Hour))
	short := sha256.Sum256([]byte("swordfish"))
	path := tokenFile(t, "# who may come in", "", alice.Line, "  "+scraper.Line, guest.Line,
		"weak sha256:"+hex.EncodeToString(short[:]))
	g := opened(t, path, c, &journal{})

	for name, test := range map[string]struct {
		token, principal string
		status           int
		words            string
	}{
		"named":                               {alice.Token, "alice", 0, ""},
		"with scopes":                         {guest.Token, "guest@example.org", 0, ""},
		"for metrics alone":                   {scraper.Token, "", 403, "lacks a scope"},
		"not of the file":                     {made(t, "x", nil, time.Time{}).Token, "", 401, "not known"},
		"cut":                                 {alice.Token[:len(alice.Token)-1], "", 401, "not known"},
		"prolonged":                           {alice.Token + "A", "", 401, "not known"},
		"too short, though its hash is there": {"swordfish", "", 401, "not known"},
		"the hash itself":                     {strings.TrimPrefix(strings.Fields(alice.Line)[1], hashPrefix), "", 401, "not known"},
	} {
		principal, refusal := show(t, g, test.token)
		if principal != test.principal || (refusal == nil) != (test.status == 0) {
			t.Errorf("%s: %q %v", name, principal, refusal)
			continue
		}
		if refusal != nil && (refusal.Status() != test.status || !strings.Contains(refusal.Error(), test.words)) {
			t.Errorf("%s: %d %v", name, refusal.Status(), refusal)
		}
	}
	c.pass(time.Hour)
	if _, refusal := show(t, g, guest.Token); refusal == nil || !strings.Contains(refusal.Error(), "expired") {
		t.Errorf("%v", refusal)
	}
	metrics := &Gate{Tokens: g.Tokens, Scope: ScopeMetrics}
	if principal, _ := show(t, metrics, scraper.Token); principal != "prometheus" {
		t.Errorf("%q", principal)
	}
}

func TestTokenFileIsReadAgain(t *testing.T) {
	c, log := newClock(), &journal{}
	alice, bob := made(t, "alice", nil, time.Time{}), made(t, "bob", nil, time.Time{})
	path := tokenFile(t, alice.Line)
	g := opened(t, path, c, log)
	who := func(m Made) string {
		t.Helper()
		c.pass(reload.LookEvery)
		principal, _ := show(t, g, m.Token)
		return principal
	}
	insist(t, who(alice) == "alice" && who(bob) == "", "before any change")

	must(t, Add(path, bob))
	expect(t, who(alice) == "alice" && who(bob) == "bob", "bob was added")

	for _, broken := range [][]string{{"alice swordfish"}, {alice.Line, alice.Line}} {
		write(t, path, broken...)
		expect(t, who(alice) == "alice" && who(bob) == "bob", "a broken file changed who may come in")
	}
	must(t, os.Remove(path))
	expect(t, who(alice) == "alice", "a file that is being replaced locked everybody out")
	n := strings.Count(log.String(), "can't be used")
	expect(t, n >= 3, "%d of 3 faults were logged: %s", n, log)
	expect(t, !strings.Contains(log.String(), "swordfish"), "what stood in the hash's place was logged")

	replacement := filepath.Join(t.TempDir(), "new")
	write(t, replacement, bob.Line)
	must(t, os.Rename(replacement, path))
	expect(t, who(alice) == "" && who(bob) == "bob", "alice was removed")
	write(t, path, "# nobody")
	expect(t, who(bob) == "", "everybody was removed")
}

// TestTokenFileThatIsGone: to take the file away locks everybody out, though not
// at once, and the same file lets them in again.
func TestTokenFileThatIsGone(t *testing.T) {
	c, log := newClock(), &journal{}
	alice := made(t, "alice", nil, time.Time{})
	path := tokenFile(t, alice.Line)
	old := c.time().Add(-time.Hour)
	must(t, os.Chtimes(path, old, old))
	g := opened(t, path, c, log)
	comesIn := func() bool {
		principal, _ := show(t, g, alice.Token)
		return principal == "alice"
	}
	move := func(from, to string) {
		t.Helper()
		must(t, os.Rename(from, to))
	}
	away := path + ".away"
	for range 2 {
		move(path, away)
		c.pass(time.Hour) // nobody asked in between
		insist(t, comesIn(), "locked out by a file that was only just missed")
		c.pass(goneFor - time.Second)
		insist(t, comesIn(), "locked out before the time")
		c.pass(time.Second)
		insist(t, !comesIn(), "a file that is gone lets clients in")
		c.pass(time.Second)
		insist(t, !comesIn(), "locked out for a moment only")
		move(away, path)
		c.pass(time.Second)
		insist(t, comesIn(), "the file is there again")
	}
	n := strings.Count(log.String(), "is gone; nobody")
	expect(t, n == 2, "logged %d times: %s", n, log)
	if n := strings.Count(log.String(), "read again"); n != 2 {
		t.Errorf("read again %d times: %s", n, log)
	}

	// Whoever was taken out stays out, whatever comes in the file's place.
	bob := made(t, "bob", nil, time.Time{})
	move(path, away)
	comesIn()
	c.pass(goneFor)
	insist(t, !comesIn(), "a file that is gone lets clients in")
	stays := func(what string) {
		t.Helper()
		for range 3 {
			expect(t, !comesIn(), "%s lets in whoever was locked out", what)
			c.pass(reload.LookEvery)
		}
	}
	if runtime.GOOS != "windows" {
		for _, from := range []string{away, tokenFile(t, bob.Line)} {
			must(t, os.Chmod(from, 0o664))
			move(from, path)
			stays("a file that others can write to")
		}
	}
	write(t, path, "bob sha256:typo")
	must(t, os.Chmod(path, 0o604))
	stays("a file with a mistake in it")
	expect(t, !strings.Contains(log.String(), "read by everybody"), "a broken file is warned of again and again")
	write(t, path, bob.Line)
	stays("another file")
	if principal, _ := show(t, g, bob.Token); principal != "bob" {
		t.Error("the new file lets nobody in")
	}
	if n := strings.Count(log.String(), "read again"); n != 3 {
		t.Errorf("read again %d times: %s", n, log)
	}
}

func TestTokenFilesWithMistakes(t *testing.T) {
	hash := strings.Repeat("ab", 32)
	line, other := "alice sha256:"+hash, "bob sha256:"+strings.Repeat("cd", 32)
	for name, test := range map[string]struct {
		lines []string
		words []string
	}{
		"name twice":         {[]string{line, "", "alice sha256:" + strings.Repeat("cd", 32)}, []string{"line 3", "alice stands in line 1"}},
		"token twice":        {[]string{line, "bob sha256:" + hash}, []string{"line 2", "same token as alice in line 1"}},
		"token for hash":     {[]string{"alice ust_secret"}, []string{"line 1", "never the token"}},
		"short hash":         {[]string{"alice sha256:abcd"}, []string{"64 hexadecimal digits"}},
		"other hash":         {[]string{"alice sha512:" + hash}, []string{"sha256:"}},
		"no hash":            {[]string{"alice"}, []string{"alice has no hash"}},
		"bad name":           {[]string{"https://x|alice sha256:" + hash}, []string{"line 1", "name"}},
		"unknown field":      {[]string{line + " admin=yes"}, []string{"only scopes=… and expires=…"}},
		"unknown scope":      {[]string{line + " scopes=all"}, []string{"none of mcp, metrics and gateway"}},
		"empty scopes":       {[]string{line + " scopes="}, []string{"none of mcp, metrics and gateway"}},
		"field twice":        {[]string{line + " scopes=mcp scopes=mcp"}, []string{"each once"}},
		"no day":             {[]string{line + " expires=soon"}, []string{`"soon" is not a day`}},
		"all mistakes":       {[]string{"alice", other, "bob"}, []string{"line 1", "line 3"}},
		"no token at all":    {[]string{"# nobody"}, []string{"no token", "understudy token"}},
		"a line without end": {[]string{strings.Repeat("x", 100_000)}, []string{"too long"}},
	} {
		_, err := OpenTokens(tokenFile(t, test.lines...), (&journal{}).logger())
		if err == nil {
			t.Errorf("%s: taken", name)
			continue
		}
		for _, w := range test.words {
			expect(t, strings.Contains(err.Error(), w), "%s: %q says nothing of %q", name, err, w)
		}
		expect(t, !strings.Contains(err.Error(), "ust_secret"), "%s: the error has the token", name)
	}
	if _, err := OpenTokens(filepath.Join(t.TempDir(), "none"), (&journal{}).logger()); err == nil {
		t.Error("a missing file was taken")
	}
	if _, err := OpenTokens(t.TempDir(), (&journal{}).logger()); err == nil {
		t.Error("a directory was taken")
	}
}

func TestTokenFileOfOthers(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("Windows has no modes")
	}
	path, log := tokenFile(t, made(t, "alice", nil, time.Time{}).Line), &journal{}
	for mode, want := range map[os.FileMode]struct {
		refused bool
		words   string
	}{0o600: {false, ""}, 0o440: {false, ""}, 0o644: {false, "can be read by everybody"}, 0o620: {true, "chmod go-w"}, 0o602: {true, "chmod go-w"}} {
		must(t, os.Chmod(path, mode))
		log.text.Reset()
		_, err := OpenTokens(path, log.logger())
		said := log.String()
		if err != nil {
			said += err.Error()
		}
		expect(t, (err != nil) == want.refused && strings.Contains(said, want.words) && (want.words != "" || said == ""), "mode %#o: %s", mode, said)
	}
}

func TestMakeAndAdd(t *testing.T) {
	path := filepath.Join(t.TempDir(), "tokens")
	expires := time.Date(2100, 1, 1, 0, 0, 0, 0, time.UTC)
	alice := made(t, "alice", []string{ScopeMCP}, expires)
	must(t, Add(path, alice))
	info, err := os.Stat(path)
	expect(t, err == nil && (runtime.GOOS == "windows" || info.Mode().Perm() == 0o600), "%v %v", info, err)
	if err := Add(path, made(t, "alice", nil, time.Time{})); err == nil || !strings.Contains(err.Error(), "nothing was added") {
		t.Errorf("%v", err)
	}
	text, err := os.ReadFile(path)
	expect(t, err == nil && string(text) == alice.Line+"\n" && !strings.Contains(string(text), alice.Token), "%q %v", text, err)
	entries, err := parseEntries(text)
	expect(t, err == nil && len(entries) == 1 && entries[0].expires.Equal(expires) && entries[0].String() == alice.Line, "%v %v", entries, err)
	must(t, os.WriteFile(path, []byte("# no end of line"), 0o600))
	must(t, Add(path, alice))
	if text, _ := os.ReadFile(path); string(text) != "# no end of line\n"+alice.Line+"\n" {
		t.Errorf("%q", text)
	}
	for _, name := range []string{"", "-x", "a b", "ä", strings.Repeat("a", 65)} {
		_, err := Make(name, nil, time.Time{})
		expect(t, err != nil, "%q was taken as a name", name)
	}
	expect(t, len(alice.Token) >= shortestToken, "our own tokens are too short")
}

// TestAddAtOnce: two that add at once both have their line, and a name is taken
// once.
func TestAddAtOnce(t *testing.T) {
	path := filepath.Join(t.TempDir(), "not", "there", "tokens")
	var adding sync.WaitGroup
	var added atomic.Int32
	for i := range 20 {
		m := made(t, fmt.Sprintf("client-%d", i/2), nil, time.Time{}) // each name twice
		adding.Go(func() {
			if Add(path, m) == nil {
				added.Add(1)
			}
		})
	}
	adding.Wait()
	known, err := OpenTokens(path, nil)
	must(t, err)
	if added.Load() != 10 || known.Count() != 10 {
		t.Errorf("%d were added, and the file has %d", added.Load(), known.Count())
	}
	info, err := os.Stat(filepath.Dir(path))
	expect(t, err == nil && (runtime.GOOS == "windows" || info.Mode().Perm() == 0o700), "%v %v", info, err)
}
