package worker

import (
	"context"
	"fmt"
	"os"
	"sync"

	"understudy/internal/proc"
	"understudy/internal/worker/pipes"
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
	z.obstacle = ForkObstacle(options.CheckpointShare)
	if systemObstacle() != "" {
		return z // it spawns
	}
	z.forkers = newForkers(z.Spawner, options.Preload)
	if z.obstacle == "" {
		z.checkpointLimit = int64(options.CheckpointShare * float64(proc.MachineMemory()))
	}
	z.launch = z.fork
	z.standby = z.forkers.spares.take
	return z
}

// ForkObstacle says why the workers of a Zygote with this CheckpointShare can't
// be copied, "" if they can.
func ForkObstacle(checkpointShare float64) string {
	if checkpointShare <= 0 {
		return obstacleSwitchedOff
	}
	return systemObstacle()
}

// systemObstacle says what the system lacks for forked workers.
var systemObstacle = sync.OnceValue(func() string {
	fd, err := proc.OpenPidfd(os.Getpid())
	if err != nil {
		return fmt.Sprintf("this system has no pidfds, as Linux has since 5.3 (%v)", err)
	}
	fd.Close()
	return ""
})

// fork has the process forked by whoever can.
func (z *Zygote) fork(ctx context.Context, spec sessions.Spec, mark proc.Mark) (*worker, error) {
	if w := z.forkBy(ctx, z.forkers.warm(), mark); w != nil {
		return w, nil
	}
	if w := z.forkBy(ctx, z.forkers.bare(ctx), mark); w != nil {
		return w, nil
	}
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	return z.spawn(ctx, spec, mark)
}

// forkBy has one forker do it, if there is one; nil means that it could not.
func (z *Zygote) forkBy(ctx context.Context, forker *forker, mark proc.Mark) *worker {
	if forker == nil {
		return nil
	}
	w, err := z.assemble(ctx, mark, func(ends *pipes.Ends) (int, body, error) {
		return z.forkers.forkWorker(forker, ends, nil)
	})
	if err != nil {
		z.log.Warn("an interpreter could not be forked; another way is tried", "by", forker.name, "error", err)
		return nil
	}
	w.origin = forker.name
	return w
}

var _ sessions.Starter = (*Zygote)(nil)
