package gateway

import (
	"context"
	"encoding/json"
	"time"

	"golang.org/x/sync/errgroup"
)

// apiTime bounds what is asked of the cluster's API, and of a pod, beside a call.
const apiTime = 5 * time.Second

// spare is by how much more than asked for a lease is renewed, so that a client which calls
// all the time has its renewed now and then.
func (g *Gateway) spare() time.Duration { return g.options.Lease / 4 }

// urgent is how long before its end a lease is not left to be renewed beside the call.
const urgent = 10 * time.Second

// touch has a claim live for its lease from now on. One that is about to end is renewed
// before the call goes on, which it would end otherwise.
func (g *Gateway) touch(ctx context.Context, c claim) {
	now, known, _ := g.claims.look(c.name)
	left := time.Until(now.ends)
	isWaiting := now.instance == "" // so far it lives as long as somebody may wait for it
	if !known || now.uid != c.uid || left >= g.options.Lease && !isWaiting {
		return
	}
	renew := func(ctx context.Context) {
		ctx, cancel := context.WithTimeout(ctx, apiTime)
		defer cancel()
		if err := g.claims.renew(ctx, now, time.Now().Add(g.options.Lease+g.spare())); err != nil {
			g.log.Warn("a lease can't be renewed", "claim", c.name, "left", left.Round(time.Second), "error", err)
		}
	}
	if left < min(g.spare(), urgent) {
		renew(ctx)
		return
	}
	go renew(context.WithoutCancel(ctx))
}

// keep renews the leases of claims that calls or code need, until ctx ends.
func (g *Gateway) keep(ctx context.Context) {
	ticks := time.NewTicker(g.spare() / 2)
	defer ticks.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticks.C:
			g.renewUsed(ctx)
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

// readUsage reports whether a pod says that code runs in it, or calls wait.
func readUsage(text []byte) bool {
	var usage struct {
		Running int `json:"running"`
	}
	return json.Unmarshal(text, &usage) == nil && usage.Running > 0
}
