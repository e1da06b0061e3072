package app

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"os"
	"slices"
	"time"

	"understudy/internal/config"
	"understudy/internal/journal"
	"understudy/sessions"
)

// heartbeatEvery is how often who watches learns what runs. What was printed until a second
// before the server is killed has to be stored, and that takes a moment.
const heartbeatEvery = time.Second / 2

// journalService is the journal of this server, and what tells it what runs.
type journalService struct {
	*journal.Journal
	log   *slog.Logger
	beats *background
}

// openJournal opens the journal; nil records nothing. A server without one still serves,
// unless it was asked for by name, or trials need it.
func openJournal(c *config.Config, workspace string, log *slog.Logger) (*journalService, error) {
	if c.Serve.NoJournal {
		return nil, nil
	}
	settings, err := c.YAML()
	if err != nil {
		return nil, fmt.Errorf("writing the settings for the journal: %w", err)
	}
	j, err := journal.Open(c.JournalPath(), journal.Options{
		Run: runOf(c, workspace, settings), Keep: c.Serve.JournalKeep, Size: c.Serve.JournalSize, Logger: log,
	})
	switch {
	case err != nil && (c.Journal != "" || c.Serve.Trials):
		return nil, fmt.Errorf("%w (choose another file with --journal, or record nothing with --no-journal)", err)
	case err != nil:
		log.Warn("nothing is recorded: the journal can't be opened", "error", err)
		return nil, nil
	}
	log.Debug("recording", "journal", j.Path(), "run", j.RunID())
	return &journalService{Journal: j, log: log, beats: newBackground()}, nil
}

// runOf describes this server for its journal.
func runOf(c *config.Config, workspace, settings string) journal.Run {
	run := journal.Run{PID: os.Getpid(), Version: Version(), Config: settings, Workspace: workspace}
	if c.Serve.Trials {
		run.Steps, run.RunDir, run.Search = c.Serve.Steps, ExperimentsDir(c), searchOf(c)
		run.Task, run.Name = c.WithoutSecrets(c.Serve.Task), c.WithoutSecrets(c.Serve.ExperimentName)
	}
	return run
}

func searchOf(c *config.Config) sessions.Search {
	return sessions.Search{Drafts: c.Serve.Drafts, DebugDepth: c.Serve.DebugDepth, DebugProb: c.Serve.DebugProb}
}

// found records which Python is the usual one.
func (j *journalService) found(version string) {
	if err := j.SetPython(version); err != nil {
		j.log.Error("recording the version of Python", "error", err)
	}
}

// beat tells the journal twice a second what the sessions do, while it changes.
func (j *journalService) beat(heartbeats func() []sessions.Heartbeat) {
	j.beats.Go(func(life context.Context) {
		ticks := time.NewTicker(heartbeatEvery)
		defer ticks.Stop()
		var before []sessions.Heartbeat
		skipped := 0
		for {
			select {
			case <-life.Done():
				return
			case <-ticks.C:
			}
			now := heartbeats()
			if unchanged(before, now) && (!anyRuns(now) || skipped < quietBeats) {
				skipped++
				continue
			}
			skipped = 0
			if before = now; j.SaveHeartbeats(life, now) != nil {
				before = nil // who watches learns it later; calls say what is wrong
			}
		}
	})
}

// quietBeats is how many heartbeats are left out while something runs and nothing is new of it:
// each would write the whole tail of its output once more.
const quietBeats = 19

func anyRuns(now []sessions.Heartbeat) bool {
	return slices.ContainsFunc(now, func(p sessions.Heartbeat) bool { return p.Execution != 0 })
}

// unchanged reports whether nothing has changed but time and memory.
func unchanged(before, now []sessions.Heartbeat) bool {
	return slices.EqualFunc(before, now, func(a, b sessions.Heartbeat) bool {
		return a.InterpreterID == b.InterpreterID && a.Client == b.Client && a.Execution == b.Execution && a.Waiting == b.Waiting && a.Tail == b.Tail &&
			maps.Equal(a.ToolCalls, b.ToolCalls)
	})
}

// close ends the run. No session is left.
func (j *journalService) close(ctx context.Context) error {
	j.beats.stop()
	if err := j.Close(ctx); err != nil {
		return errors.Join(errors.New("closing the journal"), err)
	}
	return nil
}
