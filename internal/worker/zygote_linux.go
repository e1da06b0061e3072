package worker

import (
	"context"

	"understudy/sessions"
)

// Zygote starts workers by forking a Python that has imported the usual
// libraries, which takes milliseconds, and shares memory. Before that one is
// warm, a bare Python is forked; when there is nobody to fork, workers are
// spawned. Its workers can be copied. It satisfies sessions.Starter.
type Zygote struct{ *Spawner }

// NewZygote returns a Zygote that has started nothing yet; see NewSpawner.
func NewZygote(options Options) *Zygote {
	z := &Zygote{NewSpawner(options)}
	z.forkers = newForkers(z.Spawner, options.Preload)
	z.checkpointLimit = int64(options.CheckpointShare * float64(memoryOfMachine()))
	z.launch = z.fork
	return z
}

// Name is the value of --start that chooses this starter.
func (z *Zygote) Name() string { return "zygote" }

// ForkObstacle says why workers can't be copied, "" if they can.
func (z *Zygote) ForkObstacle() string {
	if z.checkpointLimit <= 0 {
		return ObstacleSwitchedOff
	}
	return ""
}

// Warm begins to start what forks workers, so that the first need not wait.
func (z *Zygote) Warm() { z.forkers.begin() }

// fork has the process forked by whoever can.
func (z *Zygote) fork(ctx context.Context, dir string, mark mark) (*worker, error) {
	for _, forker := range z.forkers.choose(ctx) {
		w, err := z.assemble(ctx, mark, func(ends *ends) (int, body, error) { return z.forkWith(forker, ends) })
		if err == nil {
			return w, nil
		}
		z.log.Warn("an interpreter could not be forked; another way is tried", "by", forker.name, "error", err)
	}
	if err := ctx.Err(); err != nil {
		return nil, context.Cause(ctx)
	}
	return z.spawn(ctx, dir, mark)
}

func (z *Zygote) forkWith(forker *forker, ends *ends) (int, body, error) {
	pid, err := forker.spawn(spawnMessage{Kind: kindWorker}, ends.child)
	if err != nil {
		return 0, nil, err
	}
	body, err := newForked(pid, z.forkers, z.log)
	if err != nil {
		return 0, nil, err
	}
	body.own()
	return pid, body, nil
}

var _ sessions.Starter = (*Zygote)(nil)
