package worker

import (
	"net"
	"os"
)

// door stands for what there is not on Windows, where no descriptor can be sent.
type door struct{}

func openDoor() (door, *os.File, error) { return door{}, nil, nil }

func (door) accept() (net.Conn, error) { return nil, net.ErrClosed }

func (door) close() {}
