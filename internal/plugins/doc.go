// Package plugins reads the operator's functions that agents may call: each a
// NAME.yaml, which describes it, and a NAME.py, which is it.
//
// A set is what a directory holds at one moment; a plugin of it is usable, or broken
// for a reason that is told to operator and agent.
package plugins
