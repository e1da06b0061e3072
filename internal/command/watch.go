package command

import (
	"context"
	"fmt"
	"io"
	"os"

	"understudy/internal/config"
	"understudy/internal/journal"
	"understudy/internal/live"
)

// Watch is the command watch.
func Watch(ctx context.Context, c *config.Config, in io.Reader, out io.Writer) error {
	path := c.JournalPath()
	options := live.Options{Path: path, Run: c.Watch.Run, Open: func() (live.Source, error) { return openToWatch(path) }}
	switch {
	case c.Watch.Once:
		return live.Snapshot(ctx, options, out)
	case c.Watch.Plain || !isTerminal(in) || !isTerminal(out) || os.Getenv("TERM") == "dumb":
		return live.Follow(ctx, options, out)
	}
	return live.Watch(ctx, options, live.Terminal{In: in, Out: out, Env: os.Environ(), Dull: c.Watch.NoColor || os.Getenv("NO_COLOR") != ""})
}

// openToWatch opens a journal. One that is not there is an fs.ErrNotExist, for who
// would wait for it.
func openToWatch(path string) (live.Source, error) {
	if _, err := os.Stat(path); err != nil {
		return nil, fmt.Errorf("opening the journal: %w", err)
	}
	return journal.OpenReader(path)
}
