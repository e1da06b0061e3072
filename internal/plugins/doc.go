// Package plugins reads the operator's functions that agents may call: each a
// NAME.yaml, which describes it, and a NAME.py, which is it.
//
// A set is what a directory holds at one moment; a plugin of it is ready, disabled
// by its own file, or broken for a reason that is told to operator and agent. Other
// files named *.py are helpers, which plugins may import. A registry reads its
// directory again when files have changed. No Python is run here: whether a NAME.py
// compiles is for a worker to find out.
package plugins
