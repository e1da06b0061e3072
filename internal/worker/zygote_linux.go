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
func (z *Zygote) fork(ctx context.Context, mark mark, greeting []byte) (*worker, error) {
	for _, forker := range z.forkers.choose(ctx) {
		greeted := false
		w, err := z.assemble(ctx, mark, func(ends *ends) (int, body, error) {
			greeted = z.greetAhead(ends, greeting)
			return z.forkWith(forker, ends)
		})
		if err == nil {
			w.greeted = greeted
			return w, nil
		}
		z.log.Warn("an interpreter could not be forked; another way is tried", "by", forker.name, "error", err)
	}
	if err := ctx.Err(); err != nil {
		return nil, context.Cause(ctx)
	}
	return z.spawn(ctx, mark, greeting)
}

// greetAhead sends the start frame before there is somebody to read it, so that
// the new process need not wait for us. What would not fit into the socket is
// sent later, and so is code of the operator's, which must not start processes
// before the worker has its mark.
func (z *Zygote) greetAhead(ends *ends, greeting []byte) bool {
	const fits = 32 << 10
	if len(greeting) > fits || z.options.InitCode != "" {
		return false
	}
	_, err := ends.frames.Write(greeting)
	return err == nil
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
