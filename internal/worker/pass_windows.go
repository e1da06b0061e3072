package worker

import (
	"errors"
	"os"
)

// pass writes a frame. Descriptors can't be passed on this system.
func (c *conn) pass(frame []byte, descriptors []*os.File) error {
	if len(descriptors) > 0 {
		return errors.ErrUnsupported
	}
	return c.write(frame)
}
