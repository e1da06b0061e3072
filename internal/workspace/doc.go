// Package workspace prepares the directory that an experiment works in: data
// copied, linked or unpacked into input/, with working/ beside it. What is in it is
// described by Python (pyworker/workspace), as the user that sessions have.
//
// NewPlan looks and writes nothing; Prepare writes through an os.Root on input.partial, which
// becomes input by one rename, after the stamp: a stamp without input means nothing. Links
// come last, when nothing is written through them any more; one that leads out is removed.
// The ratio of an archive counts all that comes out of the decompressor, what is left out
// too. A workspace that the server made has a locked file ID.unused beside it until something
// ran there: without it, it counts as used. os.Root's MkdirAll over a file says "file exists".
package workspace
