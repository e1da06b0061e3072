package sessions

import "context"

// gate lets one at a time through, and who waits at it can give up.
type gate chan struct{}

func newGate() gate { return make(gate, 1) }

func (g gate) acquire(ctx context.Context) error {
	select {
	case g <- struct{}{}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (g gate) release() { <-g }
