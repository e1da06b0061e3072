package pythonenv

import "os"

// interrupt kills: Windows has no signal that a child without a console gets.
func interrupt(process *os.Process) error { return process.Kill() }
