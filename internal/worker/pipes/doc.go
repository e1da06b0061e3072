// Package pipes makes what joins a worker to the server, and reads what it prints: Ends are
// the two sides of the frames' socket and of the pipes, Outputs the reading of stdout and
// stderr. It starts no process, and knows no frame.
package pipes
