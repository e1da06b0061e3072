//go:build !unix

package journal

const openOnly = 0
