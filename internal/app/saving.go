package app

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"understudy/internal/config"
	"understudy/internal/journal"
	"understudy/internal/report"
)

// saving writes the files of this server's experiments. nil writes none.
type saving struct {
	*report.Saver
	reader *journal.Reader
	run    string // the id of this server's run
}

// openSaving has the journal tell of trials. There are none without --trials.
func openSaving(c *config.Config, j *journaling, log *slog.Logger) (*saving, error) {
	if j == nil || !c.Serve.Trials {
		return nil, nil
	}
	reader, err := journal.OpenReader(j.Path())
	if err != nil {
		return nil, fmt.Errorf("reading the journal for the experiments' files: %w", err)
	}
	s := &saving{reader: reader, run: j.RunID(), Saver: report.NewSaver(report.SaverOptions{
		Source: reader, Run: j.RunID(), RunDir: experimentsDir(c), Log: log,
	})}
	j.Notify(s.Changed)
	return s, nil
}

// lastSaveTime bounds the writing of files and reports when the server ends.
const lastSaveTime = 10 * time.Second

// close writes what has changed, and the reports. The journal has been closed, so that
// they say when the run ended.
func (s *saving) close() error {
	if s == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), lastSaveTime)
	defer cancel()
	return errors.Join(s.Close(ctx), s.reader.Close())
}
