package app

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"net/http"
	"sync/atomic"
	"time"

	"understudy/internal/sandbox"
)

// alive answers whoever asks whether the process lives.
func alive(w http.ResponseWriter, _ *http.Request) {
	tellHealth(w, http.StatusOK, health{Status: "ok"})
}

// health is what the two routes answer. It names no path, no client and
// nothing that was configured: the log has that.
type health struct {
	Status string `json:"status"` // ok, or unavailable
	Reason string `json:"reason,omitempty"`
}

func tellHealth(w http.ResponseWriter, status int, h health) {
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
	options func(ctx context.Context, name string) (TrialOptions, error)
	// check tries whether code can be checked before it runs; nil when none is.
	check func(context.Context) error
	log   *slog.Logger
	now   func() time.Time

	proven atomic.Int64    // when an interpreter was last started, in Unix nanoseconds
	life   context.Context // of trials; ends when the server is asked to stop
	stop   context.CancelFunc

	turn    chan struct{} // holds something while one looks at the verdict, or makes a new one
	checked time.Time
	reason  string // why not; "" when it can
}

func newReadiness(options func(context.Context, string) (TrialOptions, error), log *slog.Logger) *readiness {
	r := &readiness{options: options, log: log, now: time.Now, turn: make(chan struct{}, 1)}
	r.life, r.stop = context.WithCancel(context.Background())
	return r
}

// prove is told that an interpreter was started.
func (r *readiness) prove() { r.proven.Store(r.now().UnixNano()) }

// stopReason is what is said while the server ends.
const stopReason = "the server is stopping"

// close ends a trial that is under way, and waits for it. Further questions are answered
// with no.
func (r *readiness) close() {
	r.stop()
	r.turn <- struct{}{}
	<-r.turn
}

// ServeHTTP answers 200 or 503.
func (r *readiness) ServeHTTP(w http.ResponseWriter, request *http.Request) {
	reason, err := r.verdict(request.Context())
	switch {
	case err != nil: // who asked has left
	case reason != "":
		tellHealth(w, http.StatusServiceUnavailable, health{Status: "unavailable", Reason: reason})
	default:
		tellHealth(w, http.StatusOK, health{Status: "ok"})
	}
}

// verdict says why the server isn't ready, "" if it is. One trial at a time: who comes
// meanwhile waits for its result, and may leave, which is the error.
func (r *readiness) verdict(ctx context.Context) (string, error) {
	if r.life.Err() == nil && r.now().Sub(time.Unix(0, r.proven.Load())) < readyHolds {
		return "", nil
	}
	select {
	case r.turn <- struct{}{}:
		defer func() { <-r.turn }()
	case <-ctx.Done():
		return "", ctx.Err()
	}
	holds := readyHolds
	if r.reason != "" {
		holds = unreadyHolds
	}
	switch {
	case r.life.Err() != nil:
		return stopReason, nil
	case !r.checked.IsZero() && r.now().Sub(r.checked) < holds:
		return r.reason, nil
	}
	before := r.reason
	if r.reason = r.try(); r.reason == "" && before != "" {
		r.log.Info("interpreters can be started again")
	}
	r.checked = r.now()
	return r.reason, nil
}

// try starts an interpreter and ends it. The context is not the asker's: a
// watcher that is in a hurry must not make a verdict for others.
func (r *readiness) try() string {
	ctx, cancel := context.WithTimeout(r.life, readyTrial)
	defer cancel()
	o, err := r.options(ctx, "trial")
	if err == nil {
		err = Try(ctx, o, func(*Trial) error { return nil })
	}
	missing := noPythonError{}
	switch {
	case r.life.Err() != nil:
		return stopReason
	case errors.Is(err, sandbox.ErrBelowFloor):
		r.log.Warn("not ready: the sandbox does not work as it must", "error", err)
		return "the sandbox does not work here as the operator demands; the server's log says why"
	case errors.As(err, &missing):
		r.log.Warn("not ready: no Python", "error", err)
		return "no usable Python was found; the server's log says where it was looked for"
	case err != nil:
		r.log.Warn("not ready: an interpreter could not be started", "error", err)
		return "an interpreter could not be started; the server's log says why"
	case r.check == nil:
		return ""
	}
	if err := r.check(ctx); err != nil {
		r.log.Warn("not ready: code can't be checked, so that none runs", "error", err)
		return "code can't be checked before it runs; the server's log says why"
	}
	return ""
}
