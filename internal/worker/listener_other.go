//go:build !linux

package worker

import "errors"

// takeListener has nothing to take: no wall of this system has a network of its own.
func (*worker) takeListener(string) error { return errors.ErrUnsupported }
