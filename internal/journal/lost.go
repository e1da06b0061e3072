package journal

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"understudy/sessions"
)

// lost is how an execution stands whose server was killed while it ran, or while a file
// of it was made.
func (e *Execution) lost() {
	if e.Detail.pending() {
		for _, o := range []*Output{&e.Detail.Stdout, &e.Detail.Stderr} {
			if o.Pending {
				o.lose()
			}
		}
	}
	if e.Status != sessions.StatusRunning {
		return
	}
	e.Status = StatusLost
	if e.Trial != nil {
		e.Trial.Buggy, e.Trial.Why = true, whyLost
	}
}

const whyLost = "its server was killed while it ran"

// recall adds to a lost execution what its server said of it last: how long it had run,
// and what it had printed, both streams in one.
func (r *Reader) recall(ctx context.Context, e *Execution, detailed bool) error {
	var at int64
	var printed string
	err := r.db.QueryRowContext(ctx, "SELECT at, memory, iif(?, tail, '') FROM pulses WHERE interpreter = ? AND execution = ?",
		detailed, e.Place.InterpreterID, e.Place.Execution).Scan(&at, &e.Memory, &printed)
	switch {
	case errors.Is(err, sql.ErrNoRows): // it was over before anything was said of it
		return nil
	case err != nil:
		return fmt.Errorf("reading what was lost: %w", err)
	}
	e.ExecTime = max(0, timeOf(at).Sub(e.Started))
	if detailed && e.Detail == nil {
		e.Detail = &Detail{Record: sessions.Result{Status: StatusLost, Kind: e.Kind}}
		if printed != "" {
			e.Detail.TermOut, e.Detail.Stdout = []string{printed}, Output{Text: printed, Size: int64(len(printed))}
		}
	}
	return nil
}
