package command

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"understudy/internal/app"
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
	starter := app.NewStarter(c, python, wall)
	err := f.tryWorker(ctx, starter, wall)
	if err = errors.Join(err, starter.Close(context.WithoutCancel(ctx))); err != nil {
		f.add(groupPython, "worker", stateFailed, "%v", err)
	}
}

func (f *findings) tryWorker(ctx context.Context, starter sessions.Starter, wall *sandbox.Wall) error {
	home, err := os.MkdirTemp("", "understudy-doctor-")
	if err != nil {
		return err
	}
	began := time.Now()
	return app.Try(ctx, app.TrialOptions{Starter: starter, Wall: wall, Name: "doctor", Home: home}, func(t *app.Trial) error {
		if err := answers(ctx, t, t.Worker, 1, "1+1", "2"); err != nil {
			return fmt.Errorf("running 1+1: %w", err)
		}
		f.add(groupPython, "worker", stateOK, "started and ran 1+1 in %v", time.Since(began).Round(time.Millisecond))
		if err := f.tryFigure(ctx, t); err != nil {
			return fmt.Errorf("drawing a figure: %w", err)
		}
		return f.tryCrash(ctx, t, starter.ForkObstacle())
	})
}

// tryCrash kills the worker and has its understudy step in.
func (f *findings) tryCrash(ctx context.Context, t *app.Trial, obstacle string) (err error) {
	if obstacle != "" {
		f.add(groupPython, "understudy", stateMissing, "variables are lost in a crash: %s", obstacle)
		return nil
	}
	if err := answers(ctx, t, t.Worker, 3, "understudy_doctor = 42", ""); err != nil {
		return err
	}
	understudy, err := t.Worker.Fork(ctx, sessions.ToStandBy)
	if err != nil {
		f.add(groupPython, "understudy", stateMissing, "variables are lost in a crash: %v", err)
		return nil
	}
	t.Worker.Kill()
	began, spec := time.Now(), t.Spec
	spec.FirstExecution = 4
	woken, err := understudy.Wake(ctx, spec)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, woken.Close(context.WithoutCancel(ctx))) }()
	if err := answers(ctx, t, woken, 4, "understudy_doctor", "42"); err != nil {
		return fmt.Errorf("reading a variable after a crash: %w", err)
	}
	f.add(groupPython, "understudy", stateOK, "stepped in for a killed worker, variables and all, in %v", time.Since(began).Round(time.Millisecond))
	return nil
}

const figureCode = `import matplotlib.pyplot as plt
plt.plot([1, 2, 4]); plt.title("\u65e5")
plt.show()`

// noFont is how matplotlib_capture says that a letter is drawn as a box.
const noFont = "no installed font"

// tryFigure draws, where matplotlib is installed.
func (f *findings) tryFigure(ctx context.Context, t *app.Trial) error {
	if f.lacks("matplotlib") {
		f.add(groupPython, "figures", stateMissing, "figures are not captured, as matplotlib is not installed")
		return nil
	}
	began := time.Now()
	if err := try(ctx, t, t.Worker, 2, figureCode); err != nil {
		return err
	}
	figures := t.Figures()
	if len(figures) != 1 {
		return fmt.Errorf("a plot gave %d figures", len(figures))
	}
	f.add(groupPython, "figures", stateOK, "captured, %d×%d pixels in %v", figures[0].Width, figures[0].Height, time.Since(began).Round(time.Millisecond))
	if strings.Contains(t.Text(), noFont) {
		f.add(groupPython, "fonts", stateNote, "none has Chinese, Japanese and Korean: such labels are drawn as boxes; a font like fonts-noto-cjk helps")
	}
	return nil
}

func (f *findings) lacks(library string) bool {
	return slices.ContainsFunc(f.Checks, func(c check) bool {
		return c.Group == groupLibraries && c.Name == library && c.State != stateOK
	})
}

// answers has a worker run code that prints what is wanted.
func answers(ctx context.Context, t *app.Trial, worker sessions.Worker, execution int, code, want string) error {
	if err := try(ctx, t, worker, execution, code); err != nil {
		return err
	}
	if got := strings.TrimSpace(t.Text()); got != want {
		return fmt.Errorf("%s gave %.200q", code, got)
	}
	return nil
}

// try has a worker run code.
func try(ctx context.Context, t *app.Trial, worker sessions.Worker, execution int, code string) error {
	outcome, err := t.Run(ctx, worker, sessions.Request{Execution: execution, Code: code})
	if err == nil && outcome.Exception != nil {
		err = errors.New(strings.TrimSpace(outcome.Exception.Traceback))
	}
	return err
}
