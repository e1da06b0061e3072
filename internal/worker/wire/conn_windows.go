package wire

import (
	"errors"
	"os"
)

// Pass writes a frame. Descriptors can't be passed on this system.
func (c *Conn) Pass(frame []byte, descriptors []*os.File) error {
	if len(descriptors) > 0 {
		return errors.ErrUnsupported
	}
	return c.Write(frame)
}

// ReceiveFirst has nothing to receive: no wall of this system has a network of its own.
func (*Conn) ReceiveFirst() (Frame, []*os.File, error) { return Frame{}, nil, errors.ErrUnsupported }

// Unread is never known here.
func (*Conn) Unread() bool { return false }
