package app

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"github.com/dustin/go-humanize"

	"understudy/internal/config"
	"understudy/internal/sandbox"
	"understudy/internal/workspace"
)

// progressEvery is how often the log says how far a long preparation is.
const progressEvery = 10 * time.Second

// workspaceService is the workspace of --data. It is prepared in the background: clients
// are greeted meanwhile, and only interpreters wait.
type workspaceService struct {
	plan *workspace.Plan
	home *workspace.Home // nil for the directory of --workspace, which stays
	log  *slog.Logger
	ran  atomic.Bool // something has run in it

	life    context.Context // ends with stop
	endLife context.CancelFunc
	work    sync.WaitGroup
	done    chan struct{} // closed when it is prepared, or can't be
	err     error         // to be read once done is closed
}

// openWorkspace checks the data of --data and makes the directory for it; nil when
// there is none.
func openWorkspace(c *config.Config, run string, log *slog.Logger) (*workspaceService, error) {
	if len(c.Serve.Data) == 0 {
		return nil, nil
	}
	p := &workspaceService{log: log, done: make(chan struct{})}
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
		return nil, fmt.Errorf("workspace: %w", err)
	}
	p.plan, err = workspace.NewPlan(c.Serve.Data, workspace.Options{Dir: dir, Link: c.Serve.DataMode == config.DataLink, Logger: log})
	if err != nil {
		return nil, errors.Join(err, p.close())
	}
	p.life, p.endLife = context.WithCancel(context.Background())
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
	p.work.Go(func() {
		defer close(p.done)
		began := time.Now()
		made, err := p.plan.Prepare(p.life)
		if err != nil {
			p.err = fmt.Errorf("the workspace could not be prepared: %w", err)
			if p.life.Err() == nil {
				p.log.Error("the workspace could not be prepared", "error", err)
			}
			return
		}
		p.tell(made, time.Since(began))
	})
	p.work.Go(p.tellProgress)
	if p.home != nil {
		p.work.Go(func() { workspace.Sweep(p.life, filepath.Dir(p.home.Dir), p.log) })
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

// tellProgress logs how far a long preparation is.
func (p *workspaceService) tellProgress() {
	tick := time.NewTicker(progressEvery)
	defer tick.Stop()
	for {
		select {
		case <-p.done:
			return
		case <-tick.C:
			now := p.plan.Progress()
			p.log.Info("preparing the workspace: "+soFar(now), "at", now.Name)
		}
	}
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

// stop gives up what is not prepared yet.
func (p *workspaceService) stop() {
	p.endLife()
	p.work.Wait()
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
