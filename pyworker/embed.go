// Package pyworker carries the Python half of a worker, so that the binary can
// lay it down beside any Python interpreter.
package pyworker

import "embed"

// Files holds the modules of the Python package and the lock file of the
// scientific environment. The patterns name *.py because embedding a
// directory would drop its __init__.py, and leave out the tests.
//
//go:embed *.py display/*.py fork/*.py mcptools/*.py plugins/*.py policy/*.py sandbox/*.py shell/*.py workspace/*.py
//go:embed requirements.lock
var Files embed.FS

// FromMemory is the program that runs a file of the package from what it is told on
// its standard input.
//
//go:embed from_memory.py
var FromMemory string
