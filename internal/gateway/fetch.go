package gateway

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

const (
	// fetchRate is how many claims a gateway makes or asks for a second: less than it may
	// ask of the API in all, so that clients who can't have a pod cost nobody his lease.
	fetchRate = apiRate / 2
	// fetchAgain is after how long the API is asked again for a claim of which the watch
	// does not tell.
	fetchAgain = time.Second
)

// errNoClaim says that the client has no claim, and that none was to be made.
var errNoClaim = errors.New("the client has no pod")

// pod waits until the client's claim has a pod, and makes the claim if mayMake is set. Ctx
// bounds the wait; its error says what was waited for.
func (c *claims) pod(ctx context.Context, name, client string, mayMake bool) (claim, error) {
	changed, stop := c.wait(name)
	defer stop()
	var fetched time.Time
	trouble, wasKnown, held := error(nil), false, false
	for {
		now, known := c.look(name)
		switch {
		case known && now.usable():
			return now, nil
		case known:
			trouble = now.trouble()
		case wasKnown:
			fetched = time.Time{} // another is made at once
		}
		wasKnown = known
		if known && !now.ending && !held && time.Until(now.ends) < c.claimWait {
			held = true
			go c.hold(ctx, now)
		}
		again := (<-chan time.Time)(nil)
		if !known || !now.heard || now.ending {
			if time.Since(fetched) >= fetchAgain && time.Since(now.asked) >= fetchAgain {
				fetched = time.Now()
				err := c.fetch(ctx, name, client, mayMake)
				switch {
				case err == nil:
					continue
				case errors.Is(err, errNoClaim) && !mayMake:
					return claim{}, err
				case trouble == nil || !errors.Is(err, errNotReady) && ctx.Err() == nil && !known:
					trouble = err
				}
			}
			again = time.After(fetchAgain)
		}
		select {
		case <-changed:
		case <-again:
		case <-ctx.Done():
			return now, trouble
		}
	}
}

// hold keeps the place of a claim that has waited for long, while somebody waits on.
func (c *claims) hold(ctx context.Context, of claim) {
	if err := c.renew(ctx, of, time.Now().Add(c.claimWait+time.Minute)); err != nil && ctx.Err() == nil {
		c.log.Warn("a claim that waits can't be kept for longer", "claim", of.name, "error", err)
	}
}

// fetch has the API say how a claim stands, and makes it if there is none and mayMake is
// set. Who asks for the same at the same time asks together.
func (c *claims) fetch(ctx context.Context, name, client string, mayMake bool) error {
	now, known := c.look(name)
	mayMake = mayMake && !known
	done := c.fetching.DoChan(name+strconv.FormatBool(mayMake), func() (any, error) {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), apiTime)
		defer cancel()
		if err := c.pace.Wait(ctx); err != nil {
			return nil, fmt.Errorf("%w: many clients wait for one", errNotReady)
		}
		if mayMake {
			return nil, c.make(ctx, name, client)
		}
		return nil, c.get(ctx, now, name)
	})
	select {
	case result := <-done:
		return result.Err
	case <-ctx.Done():
		return errCluster
	}
}

// make makes the claim, which lives as long as somebody may wait for it, and is renewed
// once it is used.
func (c *claims) make(ctx context.Context, name, client string) error {
	began := time.Now()
	object, err := c.api.Create(ctx, newClaim(name, client, c.pool, began.Add(c.claimWait+time.Minute)), metav1.CreateOptions{})
	switch {
	case err == nil:
		c.discover(read(object, time.Now()), began)
		return nil
	case apierrors.IsAlreadyExists(err): // another gateway was first, or this one has not heard of it yet
		if err = c.get(ctx, claim{}, name); errors.Is(err, errNoClaim) { // it has ended since
			return errNotReady
		}
		return err
	case apierrors.IsForbidden(err) && strings.Contains(err.Error(), "exceeded quota"):
		return fmt.Errorf("%w: %w", errFull, err)
	}
	c.log.Error("a claim can't be made", "claim", name, "error", err)
	return fmt.Errorf("%w: %w", errCluster, err)
}

// get asks for a claim that is known as before, if it is.
func (c *claims) get(ctx context.Context, before claim, name string) error {
	object, err := c.api.Get(ctx, name, metav1.GetOptions{})
	switch {
	case err == nil:
		now := read(object, time.Now())
		now.asked = time.Now()
		c.learn(now)
		return nil
	case apierrors.IsNotFound(err):
		c.forget(name, before.uid)
		return errNoClaim
	}
	return fmt.Errorf("%w: %w", errCluster, err)
}
