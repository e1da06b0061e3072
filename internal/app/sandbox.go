package app

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"understudy/internal/config"
	"understudy/internal/egress"
	"understudy/internal/proc"
	"understudy/internal/pythonenv"
	"understudy/internal/sandbox"
	"understudy/pyworker"
	"understudy/sessions"
)

// NewWall returns the wall around sessions that run this Python, nil without a sandbox.
// The error is a sandbox.ErrBelowFloor when the host allows less than was asked for.
func NewWall(ctx context.Context, c *config.Config, python string, log *slog.Logger) (*sandbox.Wall, error) {
	mode := c.Serve.SandboxMode()
	if mode == config.SandboxOff {
		if c.Serve.Sandbox != "" && c.Serve.OverNetwork() {
			log.Warn("there is no sandbox: whoever may call the server may do what its user may do (--sandbox)")
		}
		return nil, nil
	}
	settings, err := wallSettings(ctx, c, python, log)
	if err != nil {
		return nil, err
	}
	confine, err := pyworker.Files.ReadFile("sandbox/confine.py") // finds out what the host allows, too
	if err != nil {
		return nil, err
	}
	host, err := sandbox.Detect(ctx, python, confine)
	if err != nil {
		return nil, err
	}
	wall, err := sandbox.New(settings, host)
	if err != nil {
		return nil, err
	}
	if why := wall.NoSecrets(); len(c.Serve.Secret) > 0 && why != "" {
		return nil, fmt.Errorf("%w: --secret needs %s; let the host allow it, or leave --secret out", sandbox.ErrBelowFloor, why)
	}
	tellWall(c, wall, log)
	return wall, nil
}

// wallSettings are the operator's choices, and what this Python needs.
func wallSettings(ctx context.Context, c *config.Config, python string, log *slog.Logger) (sandbox.Settings, error) {
	s := c.Serve
	proxy, err := newEgress(s.AllowNet, nil, nil, log)
	if err != nil { // doctor says so, too
		return sandbox.Settings{}, err
	}
	proxy.Close()
	directories, err := pythonDirectories(ctx, c, python, log)
	if err != nil {
		return sandbox.Settings{}, err
	}
	settings := sandbox.Settings{
		Mode:    sandbox.Mode(s.SandboxMode()),
		Read:    slices.Clone(s.Read),
		Shared:  s.Workdir,
		Write:   s.Write,
		Python:  directories,
		Hidden:  []string{c.DataDir},
		Secrets: c.Secrets(),
		Limits:  limitsOf(c),
		GPU:     s.Cards(),
	}
	if s.DataMode == config.DataLink { // its links lead there
		settings.Read = append(settings.Read, s.Data...)
	}
	for _, layer := range s.SandboxFloor {
		settings.Floor = append(settings.Floor, sandbox.Layer(layer))
	}
	if settings.Network.All = s.AllowsAllNet(); !settings.Network.All {
		settings.Network.Hosts, settings.Network.Direct = s.AllowNet, egress.Bypass(s.AllowNet)
	}
	return settings, nil
}

// limitsOf are the limits of one interpreter. What was asked for holds without a wall
// too.
func limitsOf(c *config.Config) sandbox.Limits {
	return ResolvedLimits(c.Serve, proc.MachineMemory())
}

// What auto means in the sandbox.
const (
	mostMemory   = 4_000_000_000 // and where nobody knows how much the machine has
	usualProcess = 512
	usualFiles   = 4096
	usualDisk    = 10_000_000_000
)

// ResolvedLimits are the limits with auto resolved; memory is the machine's or the
// container's in bytes, 0 if it is unknown.
func ResolvedLimits(s config.Serve, memory uint64) sandbox.Limits {
	confined := s.SandboxMode() != config.SandboxOff
	usual := func(value, auto int64) int64 {
		switch {
		case value != config.LimitAuto:
			return value
		case confined:
			return auto
		}
		return config.LimitNone
	}
	half := int64(mostMemory)
	if memory > 0 {
		half = int64(min(memory/2, mostMemory)) //nolint:gosec // at most mostMemory
	}
	disk := usual(s.DiskLimit, usualDisk)
	l := sandbox.Limits{
		Memory:    usual(s.MemoryLimit, half),
		Processes: int(usual(s.ProcessLimit, usualProcess)),
		CPUs:      s.CPULimit,
		OpenFiles: int(usual(s.OpenFileLimit, usualFiles)),
		Disk:      disk,
		FileSize:  s.FileSizeLimit,
		Output:    max(s.PrintLimit, config.LimitNone), // auto is none
	}
	if l.FileSize == config.LimitAuto {
		l.FileSize = disk
	}
	return l
}

// pythonDirectories are what sessions read to run Python, but for those in which the
// server's own files are: a PYTHONPATH may name any directory.
func pythonDirectories(ctx context.Context, c *config.Config, python string, log *slog.Logger) ([]string, error) {
	found, err := pythonenv.Directories(ctx, python)
	if err != nil {
		return nil, err
	}
	found = slices.DeleteFunc(found, func(path string) bool {
		what := c.OwnIn(path)
		if what != "" {
			log.Warn("code in the sandbox can't read a directory that Python looks for modules in", "dir", path, "because", "it holds "+what)
		}
		return what != ""
	})
	return append(outermost(found), python, libraryDir(c)), nil
}

// outermost leaves out what is in another directory of a sorted list.
func outermost(sorted []string) (kept []string) {
	for _, path := range sorted {
		in := func(dir string) bool { return strings.HasPrefix(path, dir+string(filepath.Separator)) }
		if !slices.ContainsFunc(kept, in) {
			kept = append(kept, path)
		}
	}
	return kept
}

// tellWall logs what the wall is, and what it leaves open to those who call from
// elsewhere.
func tellWall(c *config.Config, wall *sandbox.Wall, log *slog.Logger) {
	log.Info("code runs in the sandbox", "mode", wall.Mode(), "layers", activeLayers(wall))
	for _, l := range wall.Layers() {
		if !l.Active && l.Layer != sandbox.Cgroups { // in whose place the server watches
			log.Warn("the sandbox lacks a layer", "layer", l.Layer, "because", l.Detail)
		}
	}
	if setting, path := c.SharesHome(); setting != "" {
		log.Warn("code in the sandbox reaches the home directory of the server's user, with the keys that may be in it", "setting", setting, "dir", path)
	}
	for _, path := range Unwritable(c, wall) {
		log.Warn("code in the sandbox can't write where it is meant to: its users are not this one, and the directory is not for others; chmod 1777 opens it, and lets none remove files of others", "dir", path)
	}
	if !c.Serve.OverNetwork() {
		return
	}
	for _, sentence := range wall.Open() {
		log.Warn("the sandbox leaves open: " + sentence)
	}
}

// Unwritable are the directories of the operator's that sessions may write to by the
// settings, and can't by the mode: under a server that is root they have other users.
func Unwritable(c *config.Config, wall *sandbox.Wall) (closed []string) {
	if os.Geteuid() != 0 || !slices.Contains(activeLayers(wall), string(sandbox.UID)) {
		return nil
	}
	for _, path := range c.Serve.Write {
		info, err := os.Stat(path)
		if err == nil && info.IsDir() && info.Mode().Perm()&0o003 != 0o003 {
			closed = append(closed, path)
		}
	}
	return closed
}

// activeLayers are those that work here.
func activeLayers(wall *sandbox.Wall) []string {
	var active []string
	for _, l := range wall.Layers() {
		if l.Active {
			active = append(active, string(l.Layer))
		}
	}
	return active
}

// checkFloor refuses to serve where the host allows less than the operator demands. A
// server without Python runs no code; it may say so, and asks again when there is one.
func checkFloor(ctx context.Context, c *config.Config) error {
	c, _, err := located(c)
	if err != nil {
		return err
	}
	s := c.Serve
	demands := s.SandboxMode() == config.SandboxStrict || len(s.SandboxFloor) > 0 || len(s.Secret) > 0
	if refuses := s.SandboxMode() != config.SandboxOff && (os.Geteuid() == 0 || s.Workdir != "" || len(s.Write) > 0); !demands && !refuses {
		return nil // nothing that is missing matters
	}
	found, err := FindPython(ctx, c)
	if err != nil {
		if missing := (*pythonenv.NotFoundError)(nil); errors.As(err, &missing) {
			return nil
		}
		return err
	}
	if _, err := NewWall(ctx, c, found.Path, slog.New(slog.DiscardHandler)); err != nil {
		return fmt.Errorf("not serving: %w", err)
	}
	return nil
}

var _ sessions.Isolator = (*pythons)(nil)

// Confines reports whether sessions are behind a wall.
func (p *pythons) Confines() bool { return p.config.Serve.SandboxMode() != config.SandboxOff }

// PrepareSandbox hands directories to a family of sessions, which may then be started.
func (p *pythons) PrepareSandbox(ctx context.Context, family string, dirs ...string) error {
	usual, err := p.ready(ctx, "")
	if err != nil || usual.wall == nil {
		return err
	}
	return usual.wall.Admit(family, dirs...) // whatever Python it is to run: see ForPython
}

// Release forgets a family that has ended.
func (p *pythons) Release(family string) {
	p.proxy.Release(family)
	p.wall.Load().Release(family) // none does nothing
}

// newEgress returns the proxy for the hosts of --allow-net; nil where sessions reach
// nothing, or all. The addresses are those at which this server listens.
func newEgress(hosts []string, secrets []egress.Secret, own []netip.AddrPort, log *slog.Logger) (*egress.Proxy, error) {
	if len(hosts) == 0 || slices.Contains(hosts, config.NetAll) {
		return nil, nil
	}
	p, err := egress.New(egress.Options{Hosts: hosts, Secrets: secrets, Own: func() []netip.AddrPort { return own }, Logger: log})
	if wrong := (*egress.SecretError)(nil); errors.As(err, &wrong) {
		return nil, &config.UsageError{Err: err}
	}
	if err != nil {
		return nil, &config.UsageError{Err: fmt.Errorf("allow-net: %w", err)}
	}
	return p, nil
}

// ownPlaces are the addresses at which a server with these settings listens. A port
// that the system chooses isn't among them: nobody can list it beforehand.
func ownPlaces(s config.Serve) []netip.AddrPort {
	var texts []string
	if s.OverNetwork() && s.Socket == "" {
		texts = append(texts, s.Addr)
	}
	if s.OverNetwork() && s.MetricsAddr != "" {
		texts = append(texts, s.MetricsAddr)
	}
	var all []netip.AddrPort
	for _, text := range texts {
		// What can't be resolved can't be listened on, which Serve says.
		if addr, err := net.ResolveTCPAddr("tcp", text); err == nil && addr.Port != 0 {
			ip, _ := netip.AddrFromSlice(addr.IP)
			if !ip.IsValid() { // all of them, as :8808 says
				ip = netip.IPv6Unspecified()
			}
			all = append(all, netip.AddrPortFrom(ip.Unmap(), uint16(addr.Port)))
		}
	}
	return all
}
