// Package matplotlibcapture carries the Python package matplotlib_capture,
// which turns the figures that user code shows into images.
package matplotlibcapture

import "embed"

// Files holds the package's modules, without its tests. The pattern names the
// files because embedding the directory would drop __init__.py.
//
//go:embed *.py startup/*.py
var Files embed.FS
