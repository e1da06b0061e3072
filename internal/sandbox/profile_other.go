//go:build !linux

package sandbox

import "context"

// Profile has nothing to say: workers put none into force here.
func (w *Wall) Profile(string, string, string) (*Profile, error) { return nil, nil }

// Ahead has nothing to say, either.
func (w *Wall) Ahead() *Base { return nil }

// TellsByUser is for Linux.
func (w *Wall) TellsByUser() bool { return false }

// system is empty: macOS's paths are in its profile.
type system struct{}

func newSystem(Settings, Host) system { return system{} }

// gpu is empty, too: the settings refuse cards here.
type gpu struct{}

func newGPU(Settings, bool) (gpu, error) { return gpu{}, nil }

// GPU has nothing to say.
func (w *Wall) GPU() string { return "" }

func detect(context.Context, string, []byte) (Host, error) { return nothing("only Linux has it"), nil }
