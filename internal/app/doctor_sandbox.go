package app

import (
	"context"
	"errors"
	"strings"

	"github.com/dustin/go-humanize"

	"understudy/internal/config"
	"understudy/internal/pythonenv"
	"understudy/internal/sandbox"
	"understudy/internal/worker"
)

// sandbox says what the wall is made of here and what it leaves open, also where it is
// off. It returns the wall that the server would have, and whether it would serve.
func (f *findings) sandbox(ctx context.Context, c *config.Config, python *pythonenv.Found) (wall *sandbox.Wall, fits bool) {
	on := c.Serve.SandboxMode() != config.SandboxOff
	wall, err := newWall(ctx, c, python.Path, quiet())
	if err != nil {
		f.add(groupSandbox, "floor", stateFailed, "the server would not serve: %v", err)
	}
	shown := wall
	if shown == nil {
		if shown, err = possibleWall(ctx, c, python.Path); err != nil {
			if on || errors.Is(err, context.Canceled) {
				return nil, false
			}
			f.add(groupSandbox, "layers", stateNote, "%v", err)
			return nil, true
		}
	}
	for _, layer := range shown.Layers() {
		s := stateOK
		if !layer.Active {
			s = stateMissing
		}
		f.add(groupSandbox, string(layer.Layer), s, "%s", layer.Detail)
	}
	for _, sentence := range shown.Open() {
		f.add(groupSandbox, "open", stateNote, "%s", sentence)
	}
	for _, path := range unwritable(c, shown) {
		f.add(groupSandbox, "not writable", stateNote, "%s: code runs as other users than this one, and the directory is not for others; chmod 1777 opens it, and lets none remove files of others", path)
	}
	if cards := shown.GPU(); cards != "" {
		f.add(groupSandbox, "gpu", stateNote, "%s", cards)
	}
	return wall, wall != nil || !on
}

// possibleWall is the wall that the host allows, whatever is asked for.
func possibleWall(ctx context.Context, c *config.Config, python string) (*sandbox.Wall, error) {
	asked := *c
	asked.Serve.Sandbox, asked.Serve.SandboxFloor, asked.Serve.GPU = config.SandboxStandard, nil, nil
	return newWall(ctx, &asked, python, quiet())
}

// sandboxModes says which mode there is by which transport, and the limits.
func (f *findings) sandboxModes(c *config.Config) {
	s := c.Serve
	if over := s.SandboxModeOver(true); over == config.SandboxOff {
		f.add(groupSandbox, "HTTP and SSE", stateNote, "off: whoever may call the server may do what its user may do (--sandbox)")
	} else {
		f.add(groupSandbox, "HTTP and SSE", stateOK, "%s: %s", over, reachable(s))
	}
	if over := s.SandboxModeOver(false); over == config.SandboxOff {
		f.add(groupSandbox, "stdio", stateNote, "off: code reaches what its user reaches, as a local agent is meant to; --sandbox standard confines it")
	} else {
		f.add(groupSandbox, "stdio", stateOK, "%s: %s", over, reachable(s))
	}
	if setting, path := c.SharesHome(); setting != "" {
		f.add(groupSandbox, "home directory", stateNote, "code in the sandbox reaches %s, with the keys that may be in it (--%s)", path, setting)
	}
	f.add(groupSandbox, "limits", stateOK, "%s", limitsInWords(s.ResolvedLimits(worker.MachineMemory())))
	if s.SandboxMode() == config.SandboxOff && s.SandboxModeOver(true) != config.SandboxOff {
		s.Transport = []string{"http"}
		f.add(groupSandbox, "limits, HTTP", stateOK, "%s", limitsInWords(s.ResolvedLimits(worker.MachineMemory())))
	}
}

// reachable says what code in the sandbox may reach.
func reachable(s config.Serve) string {
	parts := []string{"no network"}
	switch {
	case s.AllowsAllNet():
		parts[0] = "the network as it is"
	case len(s.AllowNet) > 0:
		parts[0] = "the hosts " + strings.Join(s.AllowNet, ", ")
	}
	if len(s.Read) > 0 {
		parts = append(parts, "to read "+strings.Join(s.Read, ", "))
	}
	if len(s.Write) > 0 {
		parts = append(parts, "to write "+strings.Join(s.Write, ", "))
	}
	if cards := s.Cards(); cards != nil {
		parts = append(parts, "NVIDIA cards: "+strings.Join(cards, ", "))
	}
	return strings.Join(parts, "; ")
}

// limitsInWords names the limits of one interpreter.
func limitsInWords(l config.Limits) string {
	var all []string
	add := func(value int64, text string) {
		if value > 0 {
			all = append(all, text)
		}
	}
	add(l.Memory, humanize.Bytes(uint64(max(l.Memory, 0)))+" of memory")
	add(l.Processes, humanize.Comma(l.Processes)+" processes and threads")
	if l.CPUs > 0 {
		all = append(all, humanize.Ftoa(l.CPUs)+" processors")
	}
	add(l.OpenFiles, humanize.Comma(l.OpenFiles)+" open files a process")
	add(l.FileSize, humanize.Bytes(uint64(max(l.FileSize, 0)))+" a file")
	add(l.Disk, humanize.Bytes(uint64(max(l.Disk, 0)))+" on disk")
	add(l.Output, humanize.Bytes(uint64(max(l.Output, 0)))+" printed by one run")
	if len(all) == 0 {
		return "none for an interpreter"
	}
	return "for an interpreter " + strings.Join(all, ", ")
}
