package app

import (
	"bytes"
	"errors"
	"log/slog"
	"math"
	"net/netip"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"understudy/internal/config"
	"understudy/internal/sandbox"
	"understudy/internal/worker/workertest"
)

// serveConfig parses the settings of a server with the tests' Python.
func serveConfig(t *testing.T, args ...string) *config.Config {
	t.Helper()
	c, err := config.Parse(config.Source{Args: append([]string{"serve", "--data-dir", t.TempDir(), "--python", workertest.Python(t)}, args...)})
	must(t, err)
	return c
}

func needsLinux(t *testing.T) {
	t.Helper()
	if runtime.GOOS != "linux" {
		t.Skip("walls are for Linux")
	}
}

func TestStdioHasNoWall(t *testing.T) {
	var log bytes.Buffer
	c := serveConfig(t)
	wall, err := NewWall(t.Context(), c, workertest.Python(t), slog.New(slog.NewTextHandler(&log, nil)))
	expect(t, wall == nil && err == nil && toldWalls(c) == nil && log.Len() == 0, "%v %v %v %s", wall, err, toldWalls(c), &log)
	expect(t, !newPythons(c, quiet()).Confines(), "sessions are made as behind a wall")
}

// TestAnOpenServerSaysSo: over a network it is worth a warning.
func TestAnOpenServerSaysSo(t *testing.T) {
	var log bytes.Buffer
	wall, err := NewWall(t.Context(), serveConfig(t, "--transport", "http", "--sandbox", "off"), workertest.Python(t), slog.New(slog.NewTextHandler(&log, nil)))
	expect(t, wall == nil && err == nil && strings.Contains(log.String(), "level=WARN msg=\"there is no sandbox"), "%v %v %s", wall, err, &log)
}

// TestMissingLayersAreLogged: on stdio, too, where nobody else would hear of them.
func TestMissingLayersAreLogged(t *testing.T) {
	needsLinux(t)
	wall, err := sandbox.New(sandbox.Settings{Mode: sandbox.Standard}, sandbox.Host{User: 1000, Landlock: 7, NoNamespaces: "it refuses", NoCgroups: "none"})
	must(t, err)
	var log bytes.Buffer
	tellWall(serveConfig(t), wall, slog.New(slog.NewTextHandler(&log, nil)))
	expect(t, strings.Count(log.String(), "level=WARN") == 1 && strings.Contains(log.String(), `layer=namespaces because="it refuses"`), "got %s", &log)
}

func TestWallSettings(t *testing.T) {
	needsLinux(t)
	read, write := t.TempDir(), t.TempDir()
	c := serveConfig(t, "--transport", "http", "--sandbox", "standard", "--read", read, "--write", write, "--allow-net", "pypi.org", "--sandbox-floor", "rlimits", "--memory-limit", "1GB", "--disk-limit", "none")
	got, err := wallSettings(t.Context(), c, workertest.Python(t), quiet())
	must(t, err)
	expect(t, got.Mode == sandbox.Standard && slices.Equal(got.Read, []string{read}) && slices.Equal(got.Write, []string{write}) &&
		slices.Equal(got.Floor, []sandbox.Layer{sandbox.Rlimits}) && !got.Network.All && slices.Equal(got.Network.Hosts, []string{"pypi.org"}),
		"%+v", got)
	l := got.Limits
	expect(t, l.Memory == 1_000_000_000 && l.Processes == 512 && l.Disk == 0 && l.FileSize == 0, "%+v", l)
	expect(t, slices.Contains(got.Python, libraryDir(c)) && !slices.Contains(got.Python, "/"), "%q", got.Python)
	all, err := wallSettings(t.Context(), serveConfig(t, "--transport", "http", "--sandbox", "standard", "--allow-net", "all"), workertest.Python(t), quiet())
	expect(t, err == nil && all.Network.All && all.Network.Hosts == nil, "%+v %v", all.Network, err)
}

// TestModulesBesideTheServersOwn: a PYTHONPATH opens nothing of the server's.
func TestModulesBesideTheServersOwn(t *testing.T) {
	needsLinux(t)
	c, other := serveConfig(t, "--transport", "http"), t.TempDir()
	t.Setenv("PYTHONPATH", filepath.Dir(c.DataDir)+":"+other)
	var log bytes.Buffer
	found, err := pythonDirectories(t.Context(), c, workertest.Python(t), slog.New(slog.NewTextHandler(&log, nil)))
	expect(t, err == nil && !slices.Contains(found, filepath.Dir(c.DataDir)) && slices.Contains(found, other), "%q %v", found, err)
	expect(t, strings.Contains(log.String(), "it holds the data directory"), "nobody is told: %s", &log)
}

// TestBelowTheFloor: a Python that says the host allows nothing stands for one that
// does; then the server does not serve, and says what is missing.
func TestBelowTheFloor(t *testing.T) {
	needsLinux(t)
	python := pythonOnABareHost(t)
	for _, args := range [][]string{{"--sandbox", "strict"}, {"--sandbox", "standard", "--sandbox-floor", "landlock"}} {
		c := serveConfig(t, append([]string{"--transport", "http", "--addr", "127.0.0.1:0", "--python", python}, args...)...)
		err := Serve(t.Context(), c, quiet())
		expect(t, errors.Is(err, sandbox.ErrBelowFloor) && strings.Contains(err.Error(), "not serving") && strings.Contains(err.Error(), "landlock"), "%q: %v", args, err)
	}
	// Without a floor it serves, as far as it goes, and says what is open.
	var log bytes.Buffer
	c := serveConfig(t, "--transport", "http", "--python", python)
	must(t, checkFloor(t.Context(), c))
	wall, err := NewWall(t.Context(), c, python, slog.New(slog.NewTextHandler(&log, nil)))
	expect(t, err == nil && wall != nil && strings.Contains(log.String(), "the sandbox leaves open: "), "%v %v %s", wall, err, &log)
}

// pythonOnABareHost runs the tests' Python, but answers the question what the host
// allows itself.
func pythonOnABareHost(t *testing.T) string {
	t.Helper()
	no := `{"landlock":0,"user":1000,"seccomp":"not here","namespaces":"not here","users":"not here","proc":"not here","cgroup":"not here"}`
	path := filepath.Join(t.TempDir(), "python")
	text := "#!/bin/sh\nif [ \"$2\" = -S ] && [ \"$3\" = -c ]; then cat >/dev/null; echo '" + no + "'; exit; fi\nexec " + workertest.Python(t) + " \"$@\"\n"
	must(t, os.WriteFile(path, []byte(text), 0o700))
	return path
}

// TestDirectoriesThatOnlyTheServersUserWrites: sessions of a server that is root have
// users of their own, and one that is given such a directory is of no use.
func TestDirectoriesThatOnlyTheServersUserWrites(t *testing.T) {
	needsLinux(t)
	closed, open := t.TempDir(), t.TempDir()
	for dir, mode := range map[string]os.FileMode{closed: 0o755, open: 0o777} {
		must(t, os.Chmod(dir, mode))
	}
	c := serveConfig(t, "--transport", "http", "--write", closed, "--write", open)
	apart, err := sandbox.New(sandbox.Settings{Mode: sandbox.Standard}, sandbox.Host{User: os.Geteuid()})
	must(t, err)
	var want []string
	if os.Geteuid() == 0 {
		want = []string{closed}
	}
	got := Unwritable(c, apart)
	expect(t, slices.Equal(got, want), "%q, want %q", got, want)
}

// TestLimitsReachWorkersAndSessions: what was asked for holds without a wall too.
func TestLimitsReachWorkersAndSessions(t *testing.T) {
	c := serveConfig(t, "--memory-limit", "1GB", "--print-limit", "2MB")
	l := limitsOf(c)
	expect(t, l.Memory == 1_000_000_000 && l.Output == 2_000_000 && l.Processes == 0, "%+v", l)
	o := sessionOptions(c, t.TempDir(), quiet())
	expect(t, o.MemoryLimit == 1_000_000_000 && o.PrintLimit == 2_000_000, "%d %d", o.MemoryLimit, o.PrintLimit)
}

func TestWhoGetsAProxy(t *testing.T) {
	log := slog.New(slog.DiscardHandler)
	for hosts, want := range map[string]bool{"": false, "all": false, "pypi.org,*.pythonhosted.org": true} {
		var list []string
		if hosts != "" {
			list = strings.Split(hosts, ",")
		}
		p, err := newEgress(list, nil, nil, log)
		expect(t, err == nil && (p != nil) == want, "%q: %v, %v", hosts, p, err)
		p.Close()
	}
	var usage *config.UsageError
	_, err := newEgress([]string{"pypi.org/simple"}, nil, nil, log)
	expect(t, errors.As(err, &usage) && strings.HasPrefix(err.Error(), "allow-net: "), "%+v", err)
}

func TestWhereTheServerListens(t *testing.T) {
	places := func(texts ...string) (all []netip.AddrPort) {
		for _, text := range texts {
			all = append(all, netip.MustParseAddrPort(text))
		}
		return all
	}
	network := func(addr, metrics, socket string) (s config.Serve) {
		s.Transport, s.Addr, s.MetricsAddr, s.Socket = []string{config.TransportHTTP}, addr, metrics, socket
		return s
	}
	for _, test := range []struct {
		serve config.Serve
		want  []netip.AddrPort
	}{
		{network("127.0.0.1:8808", "", ""), places("127.0.0.1:8808")},
		{network("[::1]:8808", ":9090", ""), places("[::1]:8808", "[::]:9090")},
		{network("0.0.0.0:8808", "127.0.0.1:0", ""), places("0.0.0.0:8808")},
		{network("127.0.0.1:8808", "127.0.0.1:9090", "/run/u.sock"), places("127.0.0.1:9090")},
		{config.Serve{Transport: []string{config.TransportStdio}, Network: config.Network{Addr: "127.0.0.1:8808"}}, nil},
	} {
		got := ownPlaces(test.serve)
		expect(t, slices.Equal(got, test.want), "%v, not %v", got, test.want)
	}
}

func TestResolvedLimits(t *testing.T) {
	const gb = 1_000_000_000
	confined := serveConfig(t, "--sandbox", "standard").Serve
	// What was said holds outside too.
	asked := serveConfig(t, "--memory-limit", "1GB", "--disk-limit", "2GB", "--file-size-limit", "0", "--print-limit", "3MB", "--cpu-limit", "2").Serve
	usual := sandbox.Limits{Memory: 4 * gb, Processes: 512, OpenFiles: 4096, FileSize: 10 * gb, Disk: 10 * gb}
	half := usual
	half.Memory = 2 * gb
	for _, test := range []struct {
		settings config.Serve
		memory   uint64
		want     sandbox.Limits
	}{
		{confined, 4 * gb, half},
		{confined, 0, usual},
		{confined, 64 * gb, usual},
		{confined, math.MaxUint64, usual},
		{serveConfig(t, "--sandbox", "off").Serve, 4 * gb, sandbox.Limits{}},
		{asked, 4 * gb, sandbox.Limits{Memory: gb, CPUs: 2, Disk: 2 * gb, Output: 3_000_000}},
	} {
		got := ResolvedLimits(test.settings, test.memory)
		expect(t, got == test.want, "of %d bytes: %+v, not %+v", test.memory, got, test.want)
	}
}
