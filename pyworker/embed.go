// Package pyworker carries the Python half of a worker, so that the binary can
// lay it down beside any Python interpreter.
package pyworker

import "embed"

// Files holds the modules of the Python package and the lock file of the
// scientific environment. The pattern names *.py because embedding the
// directory would drop __init__.py.
//
//go:embed *.py requirements.lock
var Files embed.FS

// FromMemory is the program that runs a file of the package from what it is told on
// its standard input.
//
//go:embed from_memory.py
var FromMemory string
