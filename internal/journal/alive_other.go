//go:build !unix

package journal

// processLives does not know, and says so of none that it is gone.
func processLives(int) bool { return true }
