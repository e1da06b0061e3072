//go:build !linux

package worker

func (*worker) takeListener(string) error { return nil }
