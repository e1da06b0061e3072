// Package workspace prepares the directory that an experiment works in: data
// copied, linked or unpacked into input/, with working/ beside it. It describes for
// a model what is in it.
package workspace
