// Package disk measures what files take: below a directory, however deep it is and whatever
// happens to it meanwhile, and what is free beside them. It keeps in mind the largest files,
// for advice to who has to delete some. It judges nobody: who may write how much, and what
// is done about it, is the limiter's business in internal/worker. Linux only.
package disk
