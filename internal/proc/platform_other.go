//go:build !linux

package proc

import (
	"log/slog"
	"os/exec"
)

// HasEnded can't be told.
func (ID) HasEnded() bool { return false }

// StartChild starts a command that WaitChild is to wait for.
func StartChild(cmd *exec.Cmd) error { return cmd.Start() }

// WaitChild waits for such a command.
func WaitChild(cmd *exec.Cmd) error { return cmd.Wait() }

// AdoptOrphans does nothing: elsewhere than on Linux orphans go to the system.
func AdoptOrphans(*slog.Logger) {}

// KeepDescriptors does nothing: elsewhere there is no call for it.
func KeepDescriptors() {}

// A Reaper has nothing to reap.
type Reaper struct{}

// StartReaper starts nothing.
func StartReaper(func()) *Reaper { return &Reaper{} }

// Close does nothing.
func (*Reaper) Close() {}

// MachineMemory returns 0: nobody knows here.
func MachineMemory() uint64 { return 0 }

// Memory can't be told.
func Memory(int) (all, private uint64, err error) { return 0, 0, nil }

// Resident can't be told either.
func Resident(int) uint64 { return 0 }

// CheckDescriptors checks nothing here.
func CheckDescriptors() error { return nil }

// EnoughDescriptors checks nothing either.
func EnoughDescriptors() error { return nil }

// EndUser has nobody to end where no session has a user of its own.
func EndUser(int, *slog.Logger) bool { return true }
