//go:build !linux

package worker

// forkers are for Linux.
type forkers struct{}

func (*forkers) close() {}
