//go:build !linux

package worker

// unread is never known here.
func (*conn) unread() bool { return false }
