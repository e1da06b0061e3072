//go:build !linux

package sandbox

import "context"

// Profile has nothing to say: workers put none into force here.
func (w *Wall) Profile(string, string, string) (*Profile, error) { return nil, nil }

// TellsByUser is for Linux.
func (w *Wall) TellsByUser() bool { return false }

func systemPaths(Mode) []string { return nil }

func detect(context.Context, string, []byte) (Host, error) { return nothing("only Linux has it"), nil }
