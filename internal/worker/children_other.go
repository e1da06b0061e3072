//go:build !linux

package worker

import (
	"log/slog"
	"os/exec"
)

func startChild(cmd *exec.Cmd) error { return cmd.Start() }

func waitChild(cmd *exec.Cmd) error { return cmd.Wait() }

// adoptOrphans does nothing: elsewhere than on Linux orphans go to the system.
func adoptOrphans(*slog.Logger) {}

// keepDescriptors does nothing: elsewhere there is no call for it.
func keepDescriptors() {}

type reaper struct{}

func startReaper(*forkers) *reaper { return &reaper{} }

func (*reaper) close() {}
