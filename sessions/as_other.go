//go:build !linux

package sessions

// as does what it is told: code has the server's user here.
func (o *owner) as(do func() error) error { return do() }
