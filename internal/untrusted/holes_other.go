//go:build !linux

package untrusted

import "os"

// written returns all of the rest: holes are not looked for.
func written(_ *os.File, at, size int64) (begin, end int64) { return at, size }
