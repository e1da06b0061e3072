//go:build !unix

package sessions

import "errors"

func makeFIFO(string) error { return errors.ErrUnsupported }
