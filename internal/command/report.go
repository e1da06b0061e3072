package command

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"

	"understudy/internal/config"
	"understudy/internal/journal"
	"understudy/internal/report"
)

// lookedThrough is how many runs are looked through for the newest with an experiment.
const lookedThrough = 1000

// Report is the command report: it writes the files of a run's experiments, or of a
// run without any, and says what is where.
func Report(ctx context.Context, c *config.Config, out io.Writer) (err error) {
	reader, err := journal.OpenReader(c.JournalPath())
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, reader.Close()) }()
	run, err := runToReport(ctx, reader, c.Report.Run)
	if err != nil {
		return err
	}
	experiments, err := reader.Experiments(ctx, run.ID)
	if err != nil {
		return fmt.Errorf("reading the experiments of run %s: %w", run.ID, err)
	}
	if len(experiments) == 0 {
		if _, err := fmt.Fprintf(out, "Run %s has no trials: the report is on its executions.\n", run.ID); err != nil {
			return err
		}
		experiments = []string{""}
	}
	for i, name := range experiments {
		x, err := report.Load(ctx, reader, *run, name)
		if err != nil {
			return err
		}
		dir := reportDir(c, *run, name, i+1)
		if c.Report.Dir != "" {
			if err := report.Claim(dir); err != nil {
				return err
			}
		}
		paths, err := report.Write(dir, x)
		if err != nil {
			return err
		}
		said := append([]string{x.Summary()}, paths...)
		if _, err := fmt.Fprintln(out, strings.Join(said, "\n  ")); err != nil {
			return err
		}
	}
	return nil
}

// runToReport finds the run whose id begins with id; "" is the newest one with an
// experiment, or else the newest that executed something.
func runToReport(ctx context.Context, reader *journal.Reader, id string) (*journal.Run, error) {
	if id != "" {
		run, err := reader.Run(ctx, id)
		if err == nil && run.Executions == 0 {
			err = fmt.Errorf("run %s has executed nothing, so there is nothing to report", run.ID)
		}
		return run, err
	}
	runs, err := reader.Runs(ctx, lookedThrough)
	if err != nil {
		return nil, fmt.Errorf("reading the runs: %w", err)
	}
	var newest *journal.Run
	for i := range runs {
		if runs[i].Trials > 0 {
			return &runs[i], nil
		}
		if newest == nil && runs[i].Executions > 0 {
			newest = &runs[i]
		}
	}
	if newest == nil {
		return nil, errors.New("the journal has no executions yet; start understudy and run code, or choose another journal with --journal")
	}
	return newest, nil
}

// reportDir is where the files of a run's n-th experiment go.
func reportDir(c *config.Config, run journal.Run, experiment string, n int) string {
	switch {
	case c.Report.Dir == "":
		return run.FilesOf(cmp.Or(run.RunDir, filepath.Join(c.DataDir, "experiments")), experiment)
	case n > 1:
		return fmt.Sprintf("%s-%d", c.Report.Dir, n)
	}
	return c.Report.Dir
}
