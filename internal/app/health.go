package app

import (
	"context"
	"encoding/json"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"understudy/sessions"
)

// alive answers whoever asks whether the process lives.
func alive(w http.ResponseWriter, _ *http.Request) {
	answer(w, http.StatusOK, health{Status: "ok"})
}

// health is what the two routes answer. It names no path, no client and
// nothing that was configured: the log has that.
type health struct {
	Status string `json:"status"` // ok, or unavailable
	Reason string `json:"reason,omitempty"`
}

func answer(w http.ResponseWriter, status int, h health) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(h) // who has left gets nothing
}

// How long a verdict holds. It costs the start of an interpreter, and anybody
// may ask.
const (
	readyHolds   = 30 * time.Second
	unreadyHolds = 3 * time.Second
	readyTrial   = 30 * time.Second
)

// readiness answers whether an interpreter can be started: one that was started
// for a client proves it, else one is started on trial.
type readiness struct {
	dir    string // for the trial
	python func(context.Context) (sessions.Starter, error)
	log    *slog.Logger
	now    func() time.Time

	proven   atomic.Int64 // when an interpreter was last started, in Unix nanoseconds
	stopping atomic.Bool

	mu      sync.Mutex
	checked time.Time
	reason  string // why not; "" when it can
}

func newReadiness(p *pythonStarter, dir string, log *slog.Logger) *readiness {
	python := func(ctx context.Context) (sessions.Starter, error) { return p.ready(ctx) }
	return &readiness{dir: filepath.Join(dir, "trial"), python: python, log: log, now: time.Now}
}

// prove is told that an interpreter was started.
func (r *readiness) prove() { r.proven.Store(r.now().UnixNano()) }

// stop has all further questions answered with no.
func (r *readiness) stop() { r.stopping.Store(true) }

// ServeHTTP answers 200 or 503.
func (r *readiness) ServeHTTP(w http.ResponseWriter, _ *http.Request) {
	if reason := r.verdict(); reason != "" {
		answer(w, http.StatusServiceUnavailable, health{Status: "unavailable", Reason: reason})
		return
	}
	answer(w, http.StatusOK, health{Status: "ok"})
}

// verdict says why the server isn't ready, "" if it is.
func (r *readiness) verdict() string {
	if r.stopping.Load() {
		return "the server is stopping"
	}
	if r.now().Sub(time.Unix(0, r.proven.Load())) < readyHolds {
		return ""
	}
	r.mu.Lock() // one trial at a time; who waits gets its result
	defer r.mu.Unlock()
	holds := readyHolds
	if r.reason != "" {
		holds = unreadyHolds
	}
	if r.checked.IsZero() || r.now().Sub(r.checked) >= holds {
		before := r.reason
		r.reason = r.try()
		r.checked = r.now()
		if before != "" && r.reason == "" {
			r.log.Info("interpreters can be started again")
		}
	}
	return r.reason
}

// try starts an interpreter and ends it. The context is not the asker's: a
// watcher that is in a hurry must not make a verdict for others.
func (r *readiness) try() string {
	ctx, cancel := context.WithTimeout(context.Background(), readyTrial)
	defer cancel()
	starter, err := r.python(ctx)
	if err != nil {
		r.log.Warn("not ready: no Python", "error", err)
		return "no usable Python was found; the server's log says where it was looked for"
	}
	if err := r.trial(ctx, starter); err != nil {
		r.log.Warn("not ready: an interpreter could not be started", "error", err)
		return "an interpreter could not be started; the server's log says why"
	}
	return ""
}

func (r *readiness) trial(ctx context.Context, starter sessions.Starter) error {
	if err := os.MkdirAll(r.dir, 0o700); err != nil {
		return err
	}
	w, err := starter.Start(ctx, sessions.Spec{InterpreterID: "trial", Workdir: r.dir, FirstExecution: 1})
	if err != nil {
		return err
	}
	return w.Close(ctx)
}
