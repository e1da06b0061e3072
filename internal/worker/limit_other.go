//go:build !linux

package worker

import "errors"

// limitMemory does nothing: elsewhere one process can't set the limits of another.
func limitMemory(int, uint64) error { return errors.ErrUnsupported }
