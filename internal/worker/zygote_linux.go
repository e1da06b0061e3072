package worker

import (
	"context"
	"fmt"
	"os"
	"sync"

	"understudy/internal/worker/pipes"
	"understudy/internal/worker/proc"
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

// Name is the value of --start that chooses this starter.
func (z *Zygote) Name() string { return "zygote" }

// fork has the process forked by whoever can.
func (z *Zygote) fork(ctx context.Context, spec sessions.Spec, mark proc.Mark, greeting []byte) (*worker, error) {
	if w := z.forkBy(ctx, z.forkers.warm(), mark, greeting); w != nil {
		return w, nil
	}
	if w := z.forkBy(ctx, z.forkers.bare(ctx), mark, greeting); w != nil {
		return w, nil
	}
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	return z.spawn(ctx, spec, mark, greeting)
}

// forkBy has one forker do it, if there is one; nil means that it could not.
func (z *Zygote) forkBy(ctx context.Context, forker *forker, mark proc.Mark, greeting []byte) *worker {
	if forker == nil {
		return nil
	}
	greeted := false
	w, err := z.assemble(ctx, mark, func(ends *pipes.Ends) (int, body, error) {
		greeted = z.greetAhead(ends, mark, greeting)
		return z.forkers.forkWorker(forker, ends, nil)
	})
	if err != nil {
		z.registry.End(mark.Tag)
		z.log.Warn("an interpreter could not be forked; another way is tried", "by", forker.name, "error", err)
		return nil
	}
	w.greeted, w.origin = greeted, forker.name
	return w
}

// greetAhead sends the start frame before there is somebody to read it, so that
// the new process need not wait for us. What would not fit into the socket is
// sent later, and so is code of the operator's, which must not start processes
// before the server knows the worker. Its tag is known from then on: whoever ends another
// line of the same user's meanwhile must not take it for one that code has made up.
func (z *Zygote) greetAhead(ends *pipes.Ends, mark proc.Mark, greeting []byte) bool {
	const fits = 32 << 10
	if len(greeting) > fits || z.options.InitCode != "" {
		return false
	}
	z.registry.Begin(mark.Tag)
	_, err := ends.Frames.Write(greeting)
	return err == nil
}

var _ sessions.Starter = (*Zygote)(nil)
