package app

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"understudy/sessions"
)

// tried are the options of trials with a starter, or an error.
func tried(t *testing.T, starter sessions.Starter) func(context.Context, string) (TrialOptions, error) {
	return func(context.Context, string) (TrialOptions, error) {
		return TrialOptions{Starter: starter, Name: ".trial", Home: t.TempDir()}, nil
	}
}

// trialStarter starts nothing.
type trialStarter struct {
	err    error
	starts int
	closed int
}

func (s *trialStarter) ForkObstacle() string { return "" }
func (s *trialStarter) Start(_ context.Context, spec sessions.Spec) (sessions.Worker, error) {
	s.starts++
	if s.err != nil {
		return nil, s.err
	}
	return trialWorker{starter: s}, nil
}

type trialWorker struct {
	sessions.Worker
	starter *trialStarter
}

func (w trialWorker) Close(context.Context) error { w.starter.closed++; return nil }

// slowStarter starts nothing until it is told to, or gives up.
type slowStarter struct {
	trialStarter
	asked, goOn chan struct{}
}

func (s *slowStarter) Start(ctx context.Context, spec sessions.Spec) (sessions.Worker, error) {
	s.asked <- struct{}{}
	select {
	case <-s.goOn:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	return s.trialStarter.Start(ctx, spec)
}

// TestReadinessOfTheImpatient: who waits for a trial may leave, and the trial is for
// whoever stays.
func TestReadinessOfTheImpatient(t *testing.T) {
	starter := &slowStarter{asked: make(chan struct{}, 10), goOn: make(chan struct{})}
	r := newReadiness(tried(t, starter), slog.New(slog.DiscardHandler))
	ask := func(ctx context.Context) chan error {
		answered := make(chan error, 1)
		go func() {
			_, err := r.verdict(ctx)
			answered <- err
		}()
		return answered
	}
	hurried, leave := context.WithCancel(t.Context())
	first := ask(hurried)
	<-starter.asked
	second, third := ask(t.Context()), ask(hurried)
	leave()
	err := <-third
	expect(t, errors.Is(err, context.Canceled), "who left got %v", err)
	close(starter.goOn)
	for _, stays := range []chan error{first, second} {
		must(t, <-stays)
	}
	expect(t, starter.starts == 1 && starter.closed == 1, "%d starts, %d ends", starter.starts, starter.closed)
	r.close()
}

// TestReadinessEnds: a trial doesn't outlive the server.
func TestReadinessEnds(t *testing.T) {
	starter := &slowStarter{asked: make(chan struct{}, 10), goOn: make(chan struct{})}
	r := newReadiness(tried(t, starter), slog.New(slog.DiscardHandler))
	answered := make(chan string, 1)
	go func() {
		reason, _ := r.verdict(t.Context())
		answered <- reason
	}()
	<-starter.asked
	r.close()
	reason := <-answered
	expect(t, reason == stopReason, "it is %q", reason)
	reason, err := r.verdict(t.Context())
	expect(t, reason == stopReason && err == nil && len(starter.asked) == 0, "%q %v", reason, err)
}

// TestReadinessWithAPolicy: interpreters are of no use when no code can be checked.
func TestReadinessWithAPolicy(t *testing.T) {
	var log bytes.Buffer
	r := newReadiness(tried(t, &trialStarter{}), slog.New(slog.NewTextHandler(&log, nil)))
	r.check = func(context.Context) error { return errors.New("no checker at /secret/path") }
	reason, err := r.verdict(t.Context())
	expect(t, err == nil && strings.Contains(reason, "code can't be checked") && !strings.Contains(reason, "secret"), "%q %v", reason, err)
	expect(t, strings.Contains(log.String(), "/secret/path"), "the log does not say why: %s", log.String())
	r.check, r.checked = func(context.Context) error { return nil }, time.Time{}
	reason, err = r.verdict(t.Context())
	expect(t, reason == "" && err == nil, "%q %v", reason, err)
	r.close()
}

func TestReadiness(t *testing.T) {
	var log bytes.Buffer
	now := time.Now()
	starter := &trialStarter{err: errors.New("fork: /secret/path")}
	var noPython error = noPythonError{errors.New("--python /secret/path: no such file")}
	r := newReadiness(func(context.Context, string) (TrialOptions, error) {
		return TrialOptions{Starter: starter, Name: ".trial", Home: t.TempDir()}, noPython
	}, slog.New(slog.NewTextHandler(&log, nil)))
	r.now = func() time.Time { return now }
	want := func(status int, words string) {
		t.Helper()
		answer := httptest.NewRecorder()
		r.ServeHTTP(answer, httptest.NewRequest(http.MethodGet, readyPath, http.NoBody))
		if answer.Code != status || !strings.Contains(answer.Body.String(), words) || strings.Contains(answer.Body.String(), "secret") {
			t.Fatalf("%d: %s", answer.Code, answer.Body)
		}
	}
	want(503, "no usable Python")
	expect(t, strings.Contains(log.String(), "/secret/path"), "the log does not say why: %s", &log)
	noPython = nil
	want(503, "no usable Python") // the verdict holds for a moment
	now = now.Add(unreadyHolds)
	want(503, "could not be started")
	starter.err = nil
	now = now.Add(unreadyHolds)
	want(200, "ok")
	for range 100 {
		want(200, "ok")
	}
	expect(t, starter.starts == 2 && starter.closed == 1, "%d starts, %d ends", starter.starts, starter.closed)
	starter.err = errors.New("out of memory")
	now = now.Add(readyHolds)
	r.prove() // a client got an interpreter
	want(200, "ok")
	now = now.Add(readyHolds)
	want(503, "could not be started")
	r.prove()
	r.stop()
	want(503, "stopping")

	answer := httptest.NewRecorder()
	alive(answer, nil)
	expect(t, answer.Code == http.StatusOK, "%+v", answer.Code)
}
