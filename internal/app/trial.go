package app

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"os"
	"path/filepath"
	"sync"

	"understudy/internal/sandbox"
	"understudy/sessions"
)

// TrialOptions say where an interpreter is tried.
type TrialOptions struct {
	Starter sessions.Starter
	Wall    *sandbox.Wall // nil for none
	Name    string        // none that a session of this server can have
	Home    string        // a directory of its own, which goes with it
	Workdir string        // where it works; "" is in its home
}

// Trial is an interpreter of the server's own, and the sink of what runs in it.
type Trial struct {
	Worker sessions.Worker
	Spec   sessions.Spec // what it was started by

	mu      sync.Mutex
	text    bytes.Buffer
	figures []sessions.Figure
}

// Try starts an interpreter, has it do something, and ends it. As one that hangs answers
// no context, it is killed when ctx ends.
func Try(ctx context.Context, o TrialOptions, do func(*Trial) error) (err error) {
	defer func() { err = errors.Join(err, os.RemoveAll(o.Home)) }()
	private, temporary := filepath.Join(o.Home, "work"), filepath.Join(o.Home, "tmp")
	for _, dir := range []string{private, temporary} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return err
		}
	}
	if o.Wall != nil {
		// Whoever the interpreter runs as passes through its home.
		if err := errors.Join(os.Chmod(o.Home, 0o711), o.Wall.Admit(o.Name, temporary, private)); err != nil {
			return err
		}
		defer o.Wall.Release(o.Name)
	}
	t := &Trial{Spec: sessions.Spec{
		InterpreterID: o.Name, Group: o.Name, Home: o.Home, FirstExecution: 1,
		PrivateDir: private, // so that nothing of ours is put where others work
		Workdir:    cmp.Or(o.Workdir, private),
	}}
	if t.Worker, err = o.Starter.Start(ctx, t.Spec); err != nil {
		return err
	}
	stop := context.AfterFunc(ctx, func() { t.Worker.Kill() })
	err = do(t)
	stop()
	return errors.Join(err, t.Worker.Close(context.WithoutCancel(ctx)))
}

// Run has a worker run something, and forgets what was run before.
func (t *Trial) Run(ctx context.Context, worker sessions.Worker, r sessions.Request) (sessions.Outcome, error) {
	t.mu.Lock()
	t.text.Reset()
	t.figures = nil
	t.mu.Unlock()
	return worker.Run(ctx, r, t)
}

// Text is what the last run printed, on both streams.
func (t *Trial) Text() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.text.String()
}

// Figures are what the last run drew.
func (t *Trial) Figures() []sessions.Figure {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.figures
}

// Output keeps what is printed.
func (t *Trial) Output(_ sessions.Stream, text []byte) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.text.Write(text)
}

// Figure keeps a figure.
func (t *Trial) Figure(figure sessions.Figure) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.figures = append(t.figures, figure)
}

// Artifact does nothing: trials keep none.
func (*Trial) Artifact(sessions.Artifact) {}

// Clear does nothing.
func (*Trial) Clear(sessions.Cleared) {}

// Ask refuses: nobody is there.
func (*Trial) Ask(q sessions.Question) { q.Reply(sessions.Reply{Refusal: "nobody is there"}) }

// Tool refuses: trials are of Python alone.
func (*Trial) Tool(context.Context, sessions.ToolRequest) (*sessions.ToolAnswer, error) {
	return nil, &sessions.ToolRefusal{Kind: sessions.RefusedUnavailable, Message: "no other MCP servers are reached from here"}
}

// settledOptions are trialOptions once interpreters start as fast as they will: whoever
// waits for the server to be ready is to have his first answer at once.
func (a *App) settledOptions(ctx context.Context, name string) (TrialOptions, error) {
	if usual, err := a.python.ready(ctx, ""); err == nil {
		patience, cancel := context.WithTimeout(ctx, readyTrial/2)
		defer cancel()
		usual.starter.Settle(patience)
	}
	return a.trialOptions(ctx, name)
}

// trialOptions are those of an interpreter on trial of this server, behind the wall of the
// sessions. It has its home among those of sessions, so that one that was forked ahead for
// them will do, and called as they are, so that a later server tidies what a killed one has
// left.
func (a *App) trialOptions(ctx context.Context, name string) (o TrialOptions, err error) {
	usual, err := a.python.ready(ctx, "")
	if err != nil {
		return o, err
	}
	remake := a.run.remake
	if a.kept != nil {
		remake = a.kept.remake
	}
	homes := a.python.homes
	err = errors.Join(remake(), os.MkdirAll(homes, 0o700))
	if err == nil && usual.wall != nil {
		err = os.Chmod(homes, 0o711) // whoever the interpreter runs as passes through
	}
	home := filepath.Join(homes, "home-."+name+"-"+filepath.Base(a.run.dir))
	return TrialOptions{Starter: usual.starter, Wall: usual.wall, Name: "." + name, Home: home}, err
}
