//go:build !linux

package worker

// forkers are for Linux.
type forkers struct{}

func newGuard(*Spawner) *forkers { return nil }

func (*forkers) begin() {}

func (*forkers) resume() {}

func (*forkers) close() {}
