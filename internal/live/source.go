package live

import (
	"context"

	"understudy/internal/journal"
)

// Source is what a view reads: a journal.Reader.
type Source interface {
	Runs(ctx context.Context, limit int) ([]journal.Run, error)
	Run(ctx context.Context, id string) (*journal.Run, error)
	Interpreters(ctx context.Context, run string) ([]journal.Interpreter, error)
	Executions(ctx context.Context, q journal.Query) ([]journal.Execution, error)
	Pulses(ctx context.Context, run string) ([]journal.Pulse, error)
	Close() error
}

// Options say what is watched, and how.
type Options struct {
	Path string // of the journal, to be named
	// Open opens it. An error that is fs.ErrNotExist says that no server has written
	// yet: the view waits for one.
	Open func() (Source, error)
	Run  string // the beginning of a run's id; "" is the newest
}
