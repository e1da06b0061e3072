// Package workspace prepares the directory that an experiment works in: data
// copied, linked or unpacked into input/, with working/ beside it. What is in it is
// described by Python (pyworker/workspace), as the user that sessions have.
//
// NewPlan looks and writes nothing. Prepare goes through the sources twice by one walk: to
// count and sum them up, and to copy. It writes by an os.Root on .understudy/partial, of
// which input becomes input/ by one rename, after the stamp: a stamp without input means
// nothing. Archives are unpacked by a root of their own, so nothing in them reaches out of
// it; a link that does is removed before anybody sees it. The ratio of an archive counts all
// that comes out of the decompressor, what is left out too. A workspace that the server made
// has a locked file ID.unused beside it until something ran there: without it, it counts as
// used.
package workspace
