package worker

// MachineMemory returns how many bytes of memory this machine has, or this container
// may use, 0 where nobody knows.
func MachineMemory() uint64 { return memoryOfMachine() }
