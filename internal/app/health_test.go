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

// trialStarter starts nothing.
type trialStarter struct {
	err    error
	starts int
	closed int
}

func (s *trialStarter) Name() string         { return "trial" }
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

func TestReadiness(t *testing.T) {
	var log bytes.Buffer
	now := time.Now()
	starter := &trialStarter{err: errors.New("fork: /secret/path")}
	noPython := errors.New("no Python in /secret/path")
	r := &readiness{
		dir: t.TempDir(), log: slog.New(slog.NewTextHandler(&log, nil)), now: func() time.Time { return now },
		python: func(context.Context) (sessions.Starter, error) { return starter, noPython },
	}
	want := func(status int, words string) {
		t.Helper()
		answer := httptest.NewRecorder()
		r.ServeHTTP(answer, httptest.NewRequest(http.MethodGet, readyPath, http.NoBody))
		if answer.Code != status || !strings.Contains(answer.Body.String(), words) || strings.Contains(answer.Body.String(), "secret") {
			t.Fatalf("%d: %s", answer.Code, answer.Body)
		}
	}
	want(503, "no usable Python")
	if !strings.Contains(log.String(), "/secret/path") {
		t.Errorf("the log does not say why: %s", &log)
	}
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
	if starter.starts != 2 || starter.closed != 1 {
		t.Errorf("%d starts, %d ends", starter.starts, starter.closed)
	}
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
	if answer.Code != http.StatusOK {
		t.Error(answer.Code)
	}
}
