package gateway

import (
	"context"
	"time"

	"golang.org/x/sync/errgroup"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// apiTime bounds what is asked of the cluster's API, and of a pod, beside a call.
const apiTime = 5 * time.Second

// spare is by how much more than asked for a lease is renewed, so that a client which calls
// all the time has its renewed now and then.
func (g *Gateway) spare() time.Duration { return g.options.Lease / 4 }

// renewAgain is how often what has failed is tried again.
const renewAgain = 2 * time.Second

// urgent is how long before its end a lease is not left to be renewed beside the call.
const urgent = 10 * time.Second

// touch has a claim live for its lease from now on. One that is about to end is renewed
// before the call goes on, which it would end otherwise.
func (g *Gateway) touch(ctx context.Context, c claim) {
	now, known := g.claims.look(c.name)
	left := time.Until(now.ends)
	// One that was made just now lives as long as somebody may wait for it, which may be longer.
	isRenewed := now.instance != "" || left <= g.options.Lease+g.spare()+time.Second
	if !known || now.uid != c.uid || left >= g.options.Lease && isRenewed {
		return
	}
	until := time.Now().Add(g.options.Lease + g.spare())
	if left < min(g.spare(), urgent) {
		g.renew(ctx, now, until)
		return
	}
	go g.renew(context.WithoutCancel(ctx), now, until)
}

// renew renews a lease. If that fails keep tries it again: the client has called, and may
// not do so again before the end of the lease that it has now.
func (g *Gateway) renew(ctx context.Context, of claim, until time.Time) {
	err := g.claims.renew(ctx, of, until)
	switch {
	case err == nil:
		return
	case apierrors.IsNotFound(err):
		g.claims.forget(of.name, of.uid)
		return
	case apierrors.IsConflict(err), apierrors.IsInvalid(err): // most likely another has come after it, which is not meant
		if err := g.claims.fetch(ctx, of.name, "", false); err != nil {
			g.log.Warn("a lease can't be renewed, nor is it known why", "claim", of.name, "error", err)
		}
		return
	}
	g.log.Warn("a lease can't be renewed; it is tried again", "claim", of.name, "left", time.Until(of.ends).Round(time.Second), "error", err)
	g.mu.Lock()
	defer g.mu.Unlock()
	if until.After(g.owed[of.name]) {
		g.owed[of.name] = until
	}
}

// renewOwed tries again what has failed.
func (g *Gateway) renewOwed(ctx context.Context) {
	g.mu.Lock()
	owed := g.owed
	g.owed = map[string]time.Time{}
	g.mu.Unlock()
	var renewing errgroup.Group
	renewing.SetLimit(asksAtOnce)
	for name, until := range owed {
		if now, known := g.claims.look(name); known && now.ends.Before(until) {
			renewing.Go(func() error {
				g.renew(ctx, now, until)
				return nil
			})
		}
	}
	_ = renewing.Wait() // which are never errors
}

// keep renews the leases of claims that calls or code need, until ctx ends.
func (g *Gateway) keep(ctx context.Context) {
	ticks := time.NewTicker(g.spare() / 2)
	defer ticks.Stop()
	again := time.NewTicker(renewAgain)
	defer again.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticks.C:
			g.renewUsed(ctx)
		case <-again.C:
			g.renewOwed(ctx)
		}
	}
}

// asksAtOnce is how many pods are asked at once whether they are needed.
const asksAtOnce = 16

func (g *Gateway) renewUsed(ctx context.Context) {
	var asking errgroup.Group
	asking.SetLimit(asksAtOnce)
	for _, c := range g.claims.all() {
		if c.ending || c.address == "" || time.Until(c.ends) > g.options.Lease-g.spare() {
			continue
		}
		asking.Go(func() error {
			if g.isCalled(c.name) || g.isRunning(ctx, c) {
				g.touch(ctx, c)
			}
			return nil
		})
	}
	_ = asking.Wait() // which are never errors
}

func (g *Gateway) isCalled(claim string) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.calls[claim] > 0
}
