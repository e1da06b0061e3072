package policy

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"understudy/sessions"
)

const someRules = "blocked_modules: [socket]\nprincipals:\n  free: {}\n  ci: {allowed_modules: []}\n"

func testVerifier(t *testing.T, rules string, change ...func(*Options)) (*Verifier, *starter) {
	t.Helper()
	s := &starter{}
	o := Options{
		Source: sourceOf(t, rules), Start: s.start,
		Limit:     time.Minute, // Python must start in that time, on a busy machine too
		Principal: func(_ context.Context, c sessions.Client) string { return string(c) },
	}
	for _, change := range change {
		change(&o)
	}
	v := NewVerifier(o)
	t.Cleanup(v.Close)
	return v, s
}

// verify returns why code may not run, if it may not.
func verify(ctx context.Context, v *Verifier, client sessions.Client, kind sessions.Kind, code string) error {
	_, err := v.Verify(ctx, client, kind, code)
	return err
}

// check has code judged, as that of a principal without rules of its own.
func check(t *testing.T, v *Verifier, code string) error {
	t.Helper()
	return verify(t.Context(), v, "somebody", sessions.RunsCode, code)
}

func refused(t *testing.T, err error, words ...string) {
	t.Helper()
	insist(t, sessions.CodeOf(err) == sessions.CodeRefused, "the error is %v", err)
	for _, word := range words {
		expect(t, strings.Contains(err.Error(), word), "%q is not in:\n%v", word, err)
	}
}

func TestRefusal(t *testing.T) {
	v, s := testVerifier(t, someRules)
	err := check(t, v, "good")
	expect(t, err == nil, "%v", err)
	refused(t, check(t, v, "bad"), "Not run: 1 thing in the code is against the policy of this server.\nline 1, column 1: bad — blocked word bad\n", "Nothing has run")
	refused(t, check(t, v, "bad use good\nwell\nbad"), "2 things in the code are", "line 1, column 1: bad — blocked word bad: use good\nline 3, column 1: bad —")
	refused(t, verify(t.Context(), v, "", sessions.RunsCommand, "bad"), "1 thing in the command", "\ncolumn 1: bad —")
	many := check(t, v, strings.Repeat("bad\n", 99)+"bad")
	refused(t, many, "100 things", "line 40,", "… and 60 more")
	long := check(t, v, strings.Repeat("bad "+strings.Repeat("é", 2000)+"\n", 30))
	refused(t, long, "30 things", "more\nNothing has run")
	if len(long.Error()) > 10_000 {
		t.Errorf("a refusal has %d bytes", len(long.Error()))
	}
	refused(t, check(t, v, "bad\nbad\nmore"), "Not run: more than 2 things in", "line 2, column 1: bad — blocked word bad\n… and 7 more\nNothing")
	if err := check(t, v, "syntax"); !errors.Is(err, sessions.ErrSyntax) {
		t.Errorf("a syntax error: %v", err)
	}
	refused(t, verify(t.Context(), v, "", sessions.RunsCommand, "syntax"), "could not be checked", "invalid syntax")
	n := s.started.Load()
	expect(t, n == 1, "%d checkers were started for one call after the other", n)
}

// asked returns what the checker was asked.
func asked(t *testing.T, err error) (q question) {
	t.Helper()
	refused(t, err)
	_, told, _ := strings.Cut(err.Error(), "echo — echo: ")
	told, _, _ = strings.Cut(told, "\n")
	if err := json.Unmarshal([]byte(told), &q); err != nil {
		t.Fatalf("%v: %s", err, told)
	}
	return q
}

func TestWhoIsAskedWhat(t *testing.T) {
	v, s := testVerifier(t, someRules)
	for _, err := range []error{
		verify(t.Context(), v, "free", sessions.RunsCode, "bad"),
		verify(t.Context(), v, "ci", sessions.RunsPlugin, "bad"),
	} {
		expect(t, err == nil && s.started.Load() == 0, "what no rule is about was checked: %v", err)
	}
	const sealed = `"magics":{"pip":"refuse","shell":"refuse"}}`
	for client, want := range map[sessions.Client]string{
		"": `{"blocked_modules":["socket"],` + sealed, "somebody": `{"blocked_modules":["socket"],` + sealed, "ci": `{"allowed_modules":[],` + sealed,
	} {
		q := asked(t, verify(t.Context(), v, client, sessions.RunsCommand, "echo"))
		var compact bytes.Buffer
		_ = json.Compact(&compact, q.Policy)
		expect(t, compact.String() == want && q.Kind == "command" && q.Code == "echo", "%q: %s %q %q", client, compact.String(), q.Kind, q.Code)
	}
}

// TestChecksThatFail: whatever becomes of a checker, the code does not run, and
// the next check goes well.
func TestChecksThatFail(t *testing.T) {
	var log bytes.Buffer
	v, s := testVerifier(t, someRules, func(o *Options) {
		o.Logger = slog.New(slog.NewTextHandler(&log, nil))
	})
	for code, words := range map[string]string{
		"crash":    "ran out of memory or crashed",
		"kill":     "ran out of memory or crashed",
		"huge":     "did not answer as it should",
		"garbage":  "did not answer as it should",
		"stranger": "did not answer as it should",
		"error":    "did not answer as it should",
		"silence":  "did not answer as it should",
	} {
		refused(t, check(t, v, code), "could not be checked", words, "Nothing has run", "Split it")
		err := check(t, v, "good")
		expect(t, err == nil, "after %s: %v", code, err)
	}
	refused(t, check(t, v, strings.Repeat("#", mostCode+1)), "at most 2097152 are checked")
	expect(t, strings.Contains(log.String(), "crashed as it was told to"), "the log lacks a checker's last words:\n%s", log.String())
	n := s.started.Load()
	expect(t, n >= 6, "%d checkers were started", n)
}

// TestCodeThatKillsCheckers takes at most one with it that has served before.
func TestCodeThatKillsCheckers(t *testing.T) {
	v, s := testVerifier(t, someRules)
	must(t, check(t, v, "good"))
	refused(t, check(t, v, "kill"), "could not be checked")
	n := s.started.Load()
	expect(t, n == 2, "%d checkers were started for it", n-1)
	err := check(t, v, "good")
	expect(t, err == nil, "%v", err)
}

func TestCheckThatTakesTooLong(t *testing.T) {
	v, s := testVerifier(t, someRules, func(o *Options) { o.Limit = time.Second })
	refused(t, check(t, v, "hang"), "could not be checked", "took more than 1s", "Nothing has run")
	<-s.last.Load().Ended()
	v.checker.limit = time.Minute
	err := check(t, v, "good")
	expect(t, err == nil, "%v", err)
}

// TestIdleCheckerDies: nobody notices.
func TestIdleCheckerDies(t *testing.T) {
	v, s := testVerifier(t, someRules)
	for range 5 { // before the next check, or in its midst
		must(t, check(t, v, "later"))
		must(t, check(t, v, "good"))
		s.last.Load().Kill()
	}
}

// TestChecksTakeTurns: one process answers all, one after the other.
func TestChecksTakeTurns(t *testing.T) {
	v, s := testVerifier(t, someRules)
	var all sync.WaitGroup
	for range 20 {
		all.Go(func() { _ = asked(t, verify(t.Context(), v, "", sessions.RunsCode, "sleep 0.01\necho")) })
	}
	all.Wait()
	n := s.started.Load()
	expect(t, n == 1, "%d checkers were started", n)
}

// TestLanes: while a client's question waits for the checker, its others don't stand in the
// way of another client's.
func TestLanes(t *testing.T) {
	l := lanes{of: map[string]*lane{}}
	leave, err := l.enter(t.Context(), "alice")
	must(t, err)
	impatient, cancel := context.WithCancelCause(t.Context())
	cancel(errBusy)
	if _, err := l.enter(impatient, "alice"); !errors.Is(err, errBusy) {
		t.Errorf("a second question of hers: %v", err)
	}
	bobs, err := l.enter(t.Context(), "bob")
	must(t, err)
	next := make(chan func())
	go func() {
		leave, _ := l.enter(t.Context(), "alice")
		next <- leave
	}()
	leave()
	(<-next)()
	bobs()
	expect(t, len(l.of) == 0, "lanes stay: %v", l.of)
}

func TestCancelledCheck(t *testing.T) {
	v, _ := testVerifier(t, someRules)
	ctx, cancel := context.WithCancel(t.Context())
	first, second := make(chan error, 1), make(chan error, 1)
	for _, done := range []chan error{first, second} { // one hangs, the other waits for it
		go func() { done <- verify(ctx, v, "", sessions.RunsCode, "hang") }()
	}
	cancel()
	for _, done := range []chan error{first, second} {
		err := <-done
		expect(t, errors.Is(err, context.Canceled), "%v", err)
	}
	err := check(t, v, "good")
	expect(t, err == nil, "%v", err)
}

// TestBusyCheckers: nobody waits for ever for a turn.
func TestBusyCheckers(t *testing.T) {
	began := make(chan struct{}, 1)
	v, s := testVerifier(t, someRules, func(o *Options) {
		start := o.Start
		o.Start = func(ctx context.Context) (Process, error) {
			began <- struct{}{} // it has the only turn
			return start(ctx)
		}
	})
	ctx, cancel := context.WithCancel(t.Context())
	hangs := make(chan error, 1)
	go func() { hangs <- verify(ctx, v, "", sessions.RunsCode, "hang") }()
	<-began
	v.checker.wait = time.Millisecond // of the others: the first one has had its turn
	for range 9 {
		err := check(t, v, "good")
		expect(t, sessions.CodeOf(err) == sessions.CodeBusy && strings.Contains(err.Error(), "Try again"), "%v", err)
	}
	cancel()
	err := <-hangs
	expect(t, errors.Is(err, context.Canceled), "%v", err)
	n := s.started.Load()
	expect(t, n == 1, "%d checkers were started", n)
}

func TestLargeCodeTakesAFreshChecker(t *testing.T) {
	v, s := testVerifier(t, someRules)
	for range 2 {
		must(t, check(t, v, strings.Repeat("# a comment\n", large/12+1)))
	}
	n := s.started.Load()
	expect(t, n == 2, "%d checkers were started", n)
}

func TestVerifierWithoutPython(t *testing.T) {
	v, _ := testVerifier(t, someRules, func(o *Options) {
		o.Start = func(context.Context) (Process, error) { return nil, errors.New("no Python here") }
	})
	err := check(t, v, "good")
	expect(t, sessions.CodeOf(err) == sessions.CodeStart && strings.Contains(err.Error(), "no Python here"), "%v", err)
	if err := v.Warm(t.Context()); err == nil {
		t.Error("a checker was started of nothing")
	}
}

func TestClosedVerifier(t *testing.T) {
	v, s := testVerifier(t, someRules)
	must(t, v.Warm(t.Context()))
	idle, hangs := s.last.Load(), make(chan error, 1)
	go func() { hangs <- verify(context.Background(), v, "", sessions.RunsCode, "sleep 0\nhang") }()
	v.Close()
	<-idle.Ended()
	err := <-hangs
	expect(t, sessions.CodeOf(err) == sessions.CodeClosed, "code was checked as the server stopped: %v", err)
	if err := check(t, v, "good"); sessions.CodeOf(err) != sessions.CodeClosed {
		t.Error(err)
	}
}

// TestRefusalsInTheLog: what was broken and by whom, and nothing of the code.
func TestRefusalsInTheLog(t *testing.T) {
	var log bytes.Buffer
	v, _ := testVerifier(t, someRules, func(o *Options) { o.Logger = slog.New(slog.NewTextHandler(&log, nil)) })
	refused(t, check(t, v, "bad secret\nbad secret"))
	if got := log.String(); strings.Contains(got, "secret") || strings.Count(got, "\n") != 1 ||
		!strings.Contains(got, `principal=somebody rules="blocked word bad" violations=2`) {
		t.Error(got)
	}
	var many []Violation
	for i := range 30 {
		many = append(many, Violation{Rule: fmt.Sprintf("%02d", i) + strings.Repeat("é", 500)})
	}
	text := rulesOf(many)
	expect(t, len(text) <= 3000 && strings.HasSuffix(text, "and 20 more"), "%d bytes: %s", len(text), text)
}
