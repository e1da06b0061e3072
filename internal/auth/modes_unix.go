//go:build unix

package auth

// hasModes is true where a file's mode says who may write to it.
const hasModes = true
