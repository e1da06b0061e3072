package worker

import (
	"errors"
	"os"
)

func (p *process) pause() (resume func(), err error) { return nil, errors.ErrUnsupported }

// inheritable returns a file; Windows passes none but those that are named.
func inheritable() (*os.File, error) { return os.Open(os.DevNull) }
