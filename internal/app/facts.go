package app

import (
	"context"
	"slices"

	"understudy/internal/journal"
	"understudy/internal/report"
	"understudy/sessions"
)

// facts returns the report of the client's experiment in this run, "" if there is
// none. Callers that can't be told apart have none: it would be somebody else's.
func (s *saving) facts(ctx context.Context, client sessions.Client) (string, error) {
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
