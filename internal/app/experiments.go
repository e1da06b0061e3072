package app

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"slices"
	"time"

	"understudy/internal/config"
	"understudy/internal/journal"
	"understudy/internal/report"
	"understudy/sessions"
)

// experiments writes the files of this server's experiments.
type experiments struct {
	*report.Saver
	reader *journal.Reader
	run    string // the id of this server's run
}

// ExperimentsDir is where experiments have their directories.
func ExperimentsDir(c *config.Config) string {
	if c.Serve.RunDir != "" {
		return c.Serve.RunDir
	}
	return filepath.Join(c.DataDir, "experiments")
}

// openExperiments has the journal tell of trials.
func openExperiments(c *config.Config, j *journalService, log *slog.Logger) (*experiments, error) {
	reader, err := journal.OpenReader(j.Path())
	if err != nil {
		return nil, fmt.Errorf("reading the journal for the experiments' files: %w", err)
	}
	s := &experiments{reader: reader, run: j.RunID(), Saver: report.NewSaver(report.SaverOptions{
		Source: reader, Run: j.RunID(), RunDir: ExperimentsDir(c), Log: log,
	})}
	j.Notify(s.Changed)
	return s, nil
}

// close writes what has changed, and the reports. The journal has been closed, so that
// they say when the run ended.
func (s *experiments) close() error {
	const patience = 10 * time.Second
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	return errors.Join(s.Close(ctx), s.reader.Close())
}

// report returns the report of the client's experiment in this run, "" if there is
// none. Callers that can't be told apart have none: it would be somebody else's.
func (s *experiments) report(ctx context.Context, client sessions.Client) (string, error) {
	if client == sessions.Anonymous {
		return "", nil
	}
	run, err := s.reader.Run(ctx, s.run)
	if err != nil {
		return "", err
	}
	trials, err := s.reader.Executions(ctx, journal.Query{Run: run.ID, Trials: true})
	if err != nil {
		return "", err
	}
	for _, trial := range slices.Backward(trials) { // of its experiments the last
		if trial.Client != string(client) {
			continue
		}
		x, err := report.Load(ctx, s.reader, *run, trial.Trial.Experiment)
		if err != nil {
			return "", err
		}
		return report.Text(x)
	}
	return "", nil
}
