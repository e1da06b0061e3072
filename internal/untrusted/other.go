//go:build !linux

package untrusted

import "os"

// Do does what it is told: code has the server's user here.
func (u *User) Do(do func() error) error { return do() }

// written returns all of the rest: holes are not looked for.
func written(_ *os.File, at, size int64) (begin, end int64) { return at, size }
