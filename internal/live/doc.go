// Package live is the terminal view of what servers do. It reads the journal and
// nothing else, so it never slows a server, and shows those that have ended as well.
package live
