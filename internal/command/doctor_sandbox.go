package command

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/dustin/go-humanize"

	"understudy/internal/app"
	"understudy/internal/config"
	"understudy/internal/proc"
	"understudy/internal/pythonenv"
	"understudy/internal/sandbox"
)

// sandbox says what the wall is made of here and what it leaves open, also where it is
// off. It returns the wall that the server would have, and whether it would serve.
func (f *findings) sandbox(ctx context.Context, c *config.Config, python *pythonenv.Found) (wall *sandbox.Wall, fits bool) {
	on := c.Serve.SandboxMode() != config.SandboxOff
	wall, err := app.NewWall(ctx, c, python.Path, quiet())
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
	for _, path := range app.Unwritable(c, shown) {
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
	return app.NewWall(ctx, &asked, python, quiet())
}

// checkSandboxOver says of a transport what its interpreters reach and may use.
func checkSandboxOver(transport string) func(*config.Config) (state, string) {
	off := "off: code reaches what its user reaches, as a local agent is meant to; --sandbox standard confines it"
	if transport != config.TransportStdio {
		off = "off: whoever may call the server may do what its user may do (--sandbox)"
	}
	return func(c *config.Config) (state, string) {
		s := c.Serve
		s.Transport = []string{transport}
		limits := limitsInWords(app.ResolvedLimits(s, proc.MachineMemory()))
		mode := s.SandboxMode()
		if mode == config.SandboxOff {
			return stateNote, off + "; limits: " + limits
		}
		return stateOK, mode + ": " + reachable(s) + "; limits: " + limits
	}
}

func checkSharedHome(c *config.Config) (state, string) {
	setting, path := c.SharesHome()
	if setting == "" {
		return "", ""
	}
	return stateNote, fmt.Sprintf("code in the sandbox reaches %s, with the keys that may be in it (--%s)", path, setting)
}

// checkSecrets says which secrets code can use, and never what they are.
func checkSecrets(c *config.Config) (state, string) {
	if len(c.Serve.Secret) == 0 {
		return "", ""
	}
	if err := app.CheckSecrets(c); err != nil {
		return stateFailed, err.Error()
	}
	var all []string
	for _, secret := range c.Serve.Secrets() {
		all = append(all, secret.Name+" for "+strings.Join(secret.Hosts(), ", "))
	}
	return stateOK, "code can use and can't read: " + strings.Join(all, "; ")
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
func limitsInWords(l sandbox.Limits) string {
	bytes := func(n int64) string { return humanize.Bytes(uint64(max(n, 0))) }
	var all []string
	for _, limit := range []struct {
		is   bool
		text string
	}{
		{l.Memory > 0, bytes(l.Memory) + " of memory"},
		{l.Processes > 0, humanize.Comma(int64(l.Processes)) + " processes and threads"},
		{l.CPUs > 0, humanize.Ftoa(l.CPUs) + " processors"},
		{l.OpenFiles > 0, humanize.Comma(int64(l.OpenFiles)) + " open files a process"},
		{l.FileSize > 0, bytes(l.FileSize) + " a file"},
		{l.Disk > 0, bytes(l.Disk) + " on disk"},
		{l.Output > 0, bytes(l.Output) + " printed by one run"},
	} {
		if limit.is {
			all = append(all, limit.text)
		}
	}
	if len(all) == 0 {
		return "none for an interpreter"
	}
	return "for an interpreter " + strings.Join(all, ", ")
}
