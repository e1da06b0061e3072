package app

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"understudy/internal/config"
	"understudy/internal/pythonenv"
	"understudy/internal/sandbox"
	"understudy/sessions"
)

// trialTime is how long a trial run may take. The first import of matplotlib
// on a slow disk takes long, as it builds its font cache.
const trialTime = 2 * time.Minute

// worker starts a worker as the server would, behind its wall, and has it run code and
// draw.
func (f *findings) worker(ctx context.Context, c *config.Config, python *pythonenv.Found, wall *sandbox.Wall) {
	ctx, cancel := context.WithTimeout(ctx, trialTime)
	defer cancel()
	starter := newStarter(c, python, wall, quiet())
	err := f.tryWorker(ctx, starter, wall)
	if err = errors.Join(err, starter.Close(context.WithoutCancel(ctx))); err != nil {
		f.add(groupPython, "worker", stateFailed, "%v", err)
	}
}

func (f *findings) tryWorker(ctx context.Context, starter sessions.Starter, wall *sandbox.Wall) (err error) {
	directory, err := os.MkdirTemp("", "understudy-doctor-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(directory)) }()
	spec, err := trialSpec(wall, "doctor", directory)
	if err != nil {
		return err
	}
	defer wall.Release(spec.Family)
	began := time.Now()
	worker, err := starter.Start(ctx, spec)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, worker.Close(context.WithoutCancel(ctx))) }()
	// A worker that hangs answers no context, but it can be killed.
	defer context.AfterFunc(ctx, func() { worker.Kill() })()
	if err := tryCode(ctx, worker); err != nil {
		return err
	}
	f.add(groupPython, "worker", stateOK, "started and ran 1+1 in %v", time.Since(began).Round(time.Millisecond))
	if err := f.tryFigure(ctx, worker); err != nil {
		return err
	}
	return f.tryCrash(ctx, starter, worker, spec)
}

// tryCrash kills the worker and has its understudy step in.
func (f *findings) tryCrash(ctx context.Context, starter sessions.Starter, worker sessions.Worker, spec sessions.Spec) (err error) {
	if obstacle := starter.ForkObstacle(); obstacle != "" {
		f.add(groupPython, "understudy", stateMissing, "variables are lost in a crash: %s", obstacle)
		return nil
	}
	const mark = "understudy_doctor = 42"
	if _, err := try(ctx, worker, sessions.Request{Execution: 3, Code: mark}); err != nil {
		return err
	}
	understudy, err := worker.Fork(ctx, sessions.ToStandBy)
	if err != nil {
		f.add(groupPython, "understudy", stateMissing, "variables are lost in a crash: %v", err)
		return nil
	}
	worker.Kill()
	began := time.Now()
	spec.FirstExecution = 4
	woken, err := understudy.Wake(ctx, spec)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, woken.Close(context.WithoutCancel(ctx))) }()
	trial, err := try(ctx, woken, sessions.Request{Execution: 4, Code: "understudy_doctor"})
	if err != nil {
		return fmt.Errorf("running code after a crash: %w", err)
	}
	if answer := strings.TrimSpace(trial.text.String()); answer != "42" {
		return fmt.Errorf("a variable was %.200q after a crash", answer)
	}
	f.add(groupPython, "understudy", stateOK, "stepped in for a killed worker, variables and all, in %v", time.Since(began).Round(time.Millisecond))
	return nil
}

func tryCode(ctx context.Context, worker sessions.Worker) error {
	trial, err := try(ctx, worker, sessions.Request{Execution: 1, Code: "1+1"})
	if err != nil {
		return fmt.Errorf("running 1+1: %w", err)
	}
	if answer := strings.TrimSpace(trial.text.String()); answer != "2" {
		return fmt.Errorf("1+1 gave %.200q", answer)
	}
	return nil
}

const figureCode = `import matplotlib.pyplot as plt
plt.plot([1, 2, 4]); plt.title("\u65e5")
plt.show()`

// noFont is how matplotlib_capture says that a letter is drawn as a box.
const noFont = "no installed font"

// tryFigure draws, where matplotlib is installed.
func (f *findings) tryFigure(ctx context.Context, worker sessions.Worker) error {
	if f.lacks("matplotlib") {
		f.add(groupPython, "figures", stateMissing, "figures are not captured, as matplotlib is not installed")
		return nil
	}
	began := time.Now()
	trial, err := try(ctx, worker, sessions.Request{Execution: 2, Code: figureCode})
	if err != nil {
		return fmt.Errorf("drawing a figure: %w", err)
	}
	if len(trial.figures) != 1 {
		return fmt.Errorf("a plot gave %d figures", len(trial.figures))
	}
	figure := trial.figures[0]
	f.add(groupPython, "figures", stateOK, "captured, %d×%d pixels in %v", figure.Width, figure.Height, time.Since(began).Round(time.Millisecond))
	if strings.Contains(trial.text.String(), noFont) {
		f.add(groupPython, "fonts", stateNote, "none has Chinese, Japanese and Korean: such labels are drawn as boxes; a font like fonts-noto-cjk helps")
	}
	return nil
}

func (f *findings) lacks(library string) bool {
	return slices.ContainsFunc(f.Checks, func(c check) bool {
		return c.Group == string(groupLibraries) && c.Name == library && c.State != stateOK
	})
}

// try runs code and returns what it printed and drew.
func try(ctx context.Context, worker sessions.Worker, request sessions.Request) (*trial, error) {
	t := &trial{}
	outcome, err := worker.Run(ctx, request, t)
	if err != nil {
		return nil, err
	}
	if outcome.Exception != nil {
		return nil, errors.New(strings.TrimSpace(outcome.Exception.Traceback))
	}
	return t, nil
}

// trial is the sink of a trial run.
type trial struct {
	mu      sync.Mutex
	text    bytes.Buffer
	figures []sessions.Figure
}

// Output keeps what is printed, of both streams.
func (t *trial) Output(_ sessions.Stream, text []byte) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.text.Write(text)
}

// Artifact is never called: the trials keep none.
func (t *trial) Artifact(sessions.Artifact) {}

func (t *trial) Clear(sessions.Cleared) {}

// Figure keeps a figure.
func (t *trial) Figure(figure sessions.Figure) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.figures = append(t.figures, figure)
}

// Ask refuses: nobody is there.
func (*trial) Ask(q sessions.Question) { q.Reply(sessions.Reply{Refusal: "nobody is there"}) }
