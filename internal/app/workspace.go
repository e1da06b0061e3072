package app

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"time"

	"github.com/dustin/go-humanize"

	"understudy/internal/config"
	"understudy/internal/sandbox"
	"understudy/internal/workspace"
	"understudy/sessions"
)

// workspaceService is the workspace of --data. It is prepared in the background: clients
// are greeted meanwhile, and only interpreters wait.
type workspaceService struct {
	plan *workspace.Plan
	home *workspace.Home // nil for the directory of --workspace, which stays
	log  *slog.Logger
	ran  atomic.Bool // something has run in it

	work *background
	done chan struct{} // closed when it is prepared, or can't be
	err  error         // to be read once done is closed
}

// openWorkspace checks the data of --data and makes the directory for it; nil when
// there is none.
func openWorkspace(c *config.Config, run string, log *slog.Logger) (*workspaceService, error) {
	if len(c.Serve.Data) == 0 {
		return nil, nil
	}
	p := &workspaceService{log: log, work: newBackground(), done: make(chan struct{})}
	dir, err := c.Serve.Workspace, error(nil)
	if dir != "" {
		if err = os.MkdirAll(dir, 0o700); err == nil {
			dir, err = filepath.EvalSymlinks(dir) // a wall lets code to the directory, not to the link
		}
	} else if p.home, err = workspace.NewHome(filepath.Join(c.DataDir, "workspaces"), run); err == nil {
		dir = p.home.Dir
	}
	if err == nil && c.Serve.SandboxMode() != config.SandboxOff {
		err = GiveToSessions(dir, log)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("workspace: %w", err), p.close())
	}
	p.plan, err = workspace.NewPlan(c.Serve.Data, workspace.Options{Dir: dir, Link: c.Serve.DataMode == config.DataLink})
	if err != nil {
		return nil, errors.Join(err, p.close())
	}
	return p, nil
}

// GiveToSessions gives a directory that is empty yet to the user as whom all sessions
// of a confined server run that is root. One that holds something must be theirs, with
// the data in it: a server without a sandbox made that for itself.
func GiveToSessions(dir string, log *slog.Logger) error {
	user := sandbox.SharedUser()
	dir, err := filepath.EvalSymlinks(dir) // or the link would be given
	if err != nil || user == 0 {
		return err
	}
	owner, group, err := sandbox.OwnerOf(dir)
	if err != nil {
		return err
	}
	if owner != 0 { // as whom they run then
		return checkGiven(dir, owner, group)
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	if len(entries) == 0 {
		log.Info("the workspace belongs to the user as whom its interpreters run from now on", "dir", dir, "uid", user)
		return os.Lchown(dir, user, user)
	}
	return checkGiven(dir, user, user)
}

// checkGiven refuses a workspace with data from an earlier run that its interpreters,
// which run as that user, could not read.
func checkGiven(dir string, user, group int) error {
	for _, name := range []string{workspace.InputName, workspace.WorkingName} {
		path := filepath.Join(dir, name)
		info, err := os.Lstat(path)
		if err != nil || !info.IsDir() {
			continue // what that means is for others to say
		}
		const forOthers = 0o005 // to read and to search
		if owner, _, err := sandbox.OwnerOf(path); err != nil || owner != user && info.Mode().Perm()&forOthers != forOthers {
			return errors.Join(err, fmt.Errorf("%s is not for the sandbox's interpreters, which run as user %d: a server without a sandbox has made it; give them the whole directory (chown -R %d:%d %s), choose another with --workspace, or switch the sandbox off (--sandbox off)", path, user, user, group, dir))
		}
	}
	return nil
}

// begin prepares the workspace in the background.
func (p *workspaceService) begin() {
	p.work.Go(func(life context.Context) {
		defer close(p.done)
		began := time.Now()
		made, err := p.plan.Prepare(life)
		if err != nil {
			p.err = fmt.Errorf("the workspace could not be prepared: %w", err)
			if life.Err() == nil {
				p.log.Error("the workspace could not be prepared", "error", err)
			}
			return
		}
		p.tell(made, time.Since(began))
	})
	if p.home != nil {
		p.work.Go(func(life context.Context) { workspace.Sweep(life, filepath.Dir(p.home.Dir), p.log) })
	}
}

// tell logs what was prepared.
func (p *workspaceService) tell(made workspace.Summary, took time.Duration) {
	for _, note := range made.Notes {
		p.log.Warn("preparing the workspace: " + note)
	}
	if made.More > 0 {
		p.log.Warn("preparing the workspace: there is more to say than is logged", "notes_left_out", made.More)
	}
	if made.Reused {
		p.log.Info("the workspace has its data from an earlier run", "dir", p.plan.Dir())
		return
	}
	p.log.Info("the workspace is prepared", "dir", p.plan.Dir(), "files", made.Files,
		"size", humanize.Bytes(uint64(made.Bytes)), "took", took.Round(time.Millisecond))
}

// soFar is as "3.1 GB of 12 GB".
func soFar(now workspace.Progress) string {
	if now.Total == 0 {
		return "looking through the data"
	}
	return fmt.Sprintf("%s of %s", humanize.Bytes(uint64(now.Done)), humanize.Bytes(uint64(now.Total)))
}

// wait returns when the workspace is prepared, or says why it can't be.
func (p *workspaceService) wait(ctx context.Context) error {
	select {
	case <-p.done:
		return p.err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// waiting says in a clause what a start waits for, "" once it waits for nothing.
func (p *workspaceService) waiting() string {
	select {
	case <-p.done:
		return ""
	default:
		return "the workspace is being prepared (" + soFar(p.plan.Progress()) + ")"
	}
}

// waitAWhile returns when the workspace is prepared, or can't be, or that takes longer than
// somebody waits who only wants to read what there is.
func (p *workspaceService) waitAWhile(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, previewPatience)
	defer cancel()
	_ = p.wait(ctx)
}

// state says in a clause what is waited for, "" when for nothing, and why the workspace
// can't be prepared.
func (p *workspaceService) state() (string, error) {
	if words := p.waiting(); words != "" {
		return words, nil
	}
	return "", p.err
}

// use returns when something may run in the workspace, as it is prepared, or says why
// nothing can.
func (p *workspaceService) use(ctx context.Context) error {
	if err := p.wait(ctx); err != nil || p.home == nil {
		return err
	}
	return p.home.Use()
}

// close removes a workspace of this run that nothing ran in.
func (p *workspaceService) close() error {
	if p.home == nil {
		return nil
	}
	removed, err := p.home.Close(p.ran.Load())
	if errors.Is(err, context.DeadlineExceeded) { // no failure of the server
		p.log.Info("the workspace was not used; there was no time to remove all of it, and a later server will", "dir", p.home.Dir)
		return nil
	}
	if !removed && err == nil {
		p.log.Info("the workspace stays", "dir", p.home.Dir)
	}
	return err
}

const (
	// previewPatience is how long a preview waits for a workspace that is being prepared:
	// small data is copied by then, and no client gives a request up so soon.
	previewPatience = 10 * time.Second
	// previewFresh is for how long one is given without a look at the files.
	previewFresh = 10 * time.Second
	// previewTime bounds a look, with the start of its interpreter. The Python half ends
	// by itself after some seconds.
	previewTime = 60 * time.Second
)

// previewer has the files in input/ described by Python, in an interpreter of its own that
// is behind the wall of the sessions and runs no code of theirs: what hostile files do to
// it, they could do to a session. The text is kept while names, sizes and times of the
// files stay what they are.
type previewer struct {
	input   string   // the absolute path of the directory
	sources []string // those of the operator's data, where links in it may lead to
	// run has an interpreter run code, and returns what that leaves in previewResult.
	run func(ctx context.Context, code string) (json.RawMessage, error)
	// waiting says in a clause how far the workspace is, "" once it is prepared, and why
	// it can't be; nil: it is.
	waiting func() (string, error)
	now     func() time.Time
	turn    chan struct{} // holds a value while one looks

	text, print string
	looked      time.Time
}

// preview is what pyworker/workspace/preview.py returns.
type preview struct {
	Print  string  `json:"print"`
	Text   *string `json:"text"`   // nil: nothing has changed
	Hasted bool    `json:"hasted"` // the time was not enough for everything
	Error  string  `json:"error"`  // why the directory can't be described
}

func (a *App) newPreviewer() *previewer {
	return &previewer{
		input: a.workspace.plan.Input(), sources: a.workspace.plan.Sources(), run: a.describeData, waiting: a.workspace.state,
		now: time.Now, turn: make(chan struct{}, 1),
	}
}

// Text describes the directory as it was at most ten seconds ago. As long as the workspace
// is being prepared it says how far that is.
func (p *previewer) Text(ctx context.Context) (string, error) {
	if p.waiting != nil {
		words, err := p.waiting()
		if err != nil {
			return "There is no preview: " + err.Error() + ".\n", nil
		}
		if words != "" {
			return "There is no preview yet: " + words + ". Read it again later, or look at input/ once a run has been answered.\n", nil
		}
	}
	select {
	case p.turn <- struct{}{}:
		defer func() { <-p.turn }()
	case <-ctx.Done():
		return "", ctx.Err()
	}
	if p.text != "" && p.now().Sub(p.looked) < previewFresh {
		return p.text, nil
	}
	found, err := p.look(ctx)
	if err != nil {
		return "", err
	}
	if found.Error != "" { // code's doing, and no fault of the server's
		return "There is no preview: " + found.Error + ".\n", nil
	}
	if found.Text != nil {
		p.text, p.print = *found.Text, found.Print
	}
	if found.Hasted { // the next time may be better
		p.print = ""
	}
	p.looked = p.now()
	return p.text, nil
}

func (p *previewer) look(ctx context.Context) (preview, error) {
	asked, err := json.Marshal(map[string]any{"directory": p.input, "roots": append([]string{}, p.sources...), "known": p.print})
	if err != nil {
		return preview{}, err
	}
	ctx, cancel := context.WithTimeout(ctx, previewTime)
	defer cancel()
	// A JSON object of texts is a dictionary of Python's, too.
	answer, err := p.run(ctx, fmt.Sprintf("from pyworker.workspace import preview\n%s = preview.describe(**%s)", previewResult, asked))
	if err != nil {
		return preview{}, err
	}
	var found preview
	if err := json.Unmarshal(answer, &found); err != nil {
		return preview{}, fmt.Errorf("reading what Python told of the data: %w", err)
	}
	return found, nil
}

// previewResult is the variable that the description is left in.
const previewResult = "understudy_preview"

// describeData runs code in an interpreter of its own and returns what it left in
// previewResult.
func (a *App) describeData(ctx context.Context, code string) (json.RawMessage, error) {
	o, err := a.trialOptions(ctx, "preview")
	if missing := (noPythonError{}); errors.As(err, &missing) { // which is no fault of the server's
		return json.Marshal(preview{Error: err.Error()})
	}
	if err != nil {
		return nil, err
	}
	var answer json.RawMessage
	err = Try(ctx, o, func(t *Trial) error {
		outcome, err := t.Run(ctx, t.Worker, sessions.Request{Execution: 1, Code: code, ResultVarName: previewResult})
		if err == nil && outcome.Exception != nil {
			err = errors.New(strings.TrimSpace(outcome.Exception.Traceback))
		}
		answer = outcome.Result
		return err
	})
	return answer, err
}
