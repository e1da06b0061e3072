package sandbox

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// fakeCgroup is a directory with the files that the kernel would put there. It keeps
// what is written, and moves no processes.
func fakeCgroup(t *testing.T, dir string, files ...string) string {
	t.Helper()
	must(t, os.MkdirAll(dir, 0o755))
	for _, name := range append(files, "cgroup.procs", "cgroup.subtree_control") {
		must(t, os.WriteFile(filepath.Join(dir, name), nil, 0o644))
	}
	return dir
}

func content(t *testing.T, path ...string) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(path...))
	must(t, err)
	return string(data)
}

func TestOwnGroup(t *testing.T) {
	const mount = "30 23 0:26 %s %s rw,nosuid shared:9 - cgroup2 cgroup2 rw,nsdelegate\n"
	at := func(root, place string) string { return strings.NewReplacer("%s %s", root+" "+place).Replace(mount) }
	tests := map[string]struct{ own, mounts, want, fault string }{
		"service":      {"0::/system.slice/u.service\n", at("/", "/sys/fs/cgroup"), "/sys/fs/cgroup/system.slice/u.service", ""},
		"container":    {"0::/\n", at("/", "/sys/fs/cgroup"), "/sys/fs/cgroup", ""},
		"hybrid":       {"4:memory:/x\n0::/y\n", at("/", "/sys/fs/cgroup/unified"), "/sys/fs/cgroup/unified/y", ""},
		"part":         {"0::/docker/1/me\n", at("/docker/1", "/sys/fs/cgroup"), "/sys/fs/cgroup/me", ""},
		"another part": {"0::/docker/1/me\n", at("/docker/2", "/sys/fs/cgroup"), "", "no cgroups of version 2 are mounted"},
		"host's first": {"0::/\n", at("/..", "/sys/fs/cgroup") + at("/", "/run/cgroup"), "/run/cgroup", ""},
		"host's only":  {"0::/\n", at("/../..", "/sys/fs/cgroup"), "", "no cgroups of version 2 are mounted"},
		"outside":      {"0::/../other\n", at("/", "/sys/fs/cgroup"), "", "outside of its cgroup namespace"},
		"version 1":    {"4:memory:/x\n", "", "", "version 1 only"},
		"no mount":     {"0::/x\n", "30 23 0:26 / /sys/fs/cgroup rw - tmpfs tmpfs rw\n", "", "no cgroups of version 2 are mounted"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			got, err := ownGroup(test.own, test.mounts)
			expect(t, got == test.want && (err == nil) == (test.fault == "") && (err == nil || strings.Contains(err.Error(), test.fault)), "%q, %v", got, err)
		})
	}
}

func TestDelegation(t *testing.T) {
	write := func(dir, name, text string) {
		must(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644))
	}
	top := t.TempDir() // what is above it has no cgroup.procs
	dir := fakeCgroup(t, top, "memory.max")
	write(dir, "cgroup.controllers", "cpuset cpu io memory pids\n")
	below := fakeCgroup(t, filepath.Join(top, "below"), "memory.max")
	write(below, "cgroup.controllers", "cpu memory pids\n")
	poor := fakeCgroup(t, filepath.Join(top, "poor"), "memory.max")
	write(poor, "cgroup.controllers", "cpuset memory pids\n")
	machine := fakeCgroup(t, t.TempDir())
	write(machine, "cgroup.controllers", "cpu memory pids\n")
	for name, test := range map[string]struct {
		dir  string
		root bool
		want string
	}{
		"a container's":   {dir, true, ""},
		"a user's":        {below, false, ""},
		"another's":       {below, true, "not delegated to it (Delegate=yes)"},
		"no controller":   {poor, false, "has no controller cpu"},
		"the machine's":   {machine, true, "the machine's topmost cgroup"},
		"one that is not": {filepath.Join(top, "none"), true, "can't be read"},
	} {
		t.Run(name, func(t *testing.T) {
			err := isDelegated(test.dir, test.root)
			expect(t, (err == nil) == (test.want == "") && (err == nil || strings.Contains(err.Error(), test.want)), "%v", err)
		})
	}
}

// A server that is started from within the leaf of one before it divides the same group.
func TestLeafOfAnEarlierServer(t *testing.T) {
	for dir, want := range map[string]string{
		"/sys/fs/cgroup": "/sys/fs/cgroup", "/sys/fs/cgroup/understudy-server": "/sys/fs/cgroup", "/sys/fs/cgroup/u.service": "/sys/fs/cgroup/u.service",
	} {
		got := divided(dir)
		expect(t, got == want, "%s: %s", dir, got)
	}
}

// TestFindCgroup looks at this machine: whatever it has, there is a group or a reason.
func TestFindCgroup(t *testing.T) {
	dir, err := FindCgroup()
	t.Logf("%q, %v", dir, err)
	expect(t, err != nil || filepath.IsAbs(dir), "%q", dir)
}

func TestGroups(t *testing.T) {
	dir := fakeCgroup(t, t.TempDir())
	must(t, os.Mkdir(filepath.Join(dir, "session-1"), 0o755))
	fakeCgroup(t, filepath.Join(dir, serverGroup))
	groups, err := openCgroups(dir)
	must(t, err)
	if got := content(t, dir, "cgroup.subtree_control"); got != "+memory +pids +cpu" {
		t.Errorf("%q", got)
	}
	if _, err := os.Stat(filepath.Join(dir, "session-1")); err == nil {
		t.Error("an old group is left")
	}
	g := &Group{dir: fakeCgroup(t, filepath.Join(dir, "session-2"), "memory.max", "memory.swap.max", "pids.max", "cpu.max", "cgroup.kill")}
	must(t, g.limit(Limits{Memory: 1 << 30, Processes: 64, CPUs: 1.5}))
	for _, want := range []string{"session-1", "session-3"} { // not one that somebody is in
		if got, err := groups.Add(Limits{}); err != nil || filepath.Base(got.dir) != want {
			t.Errorf("%+v, %v", got, err)
		}
	}
	for name, want := range map[string]string{"memory.max": "2415919104", "memory.swap.max": "0", "pids.max": "64", "cpu.max": "150000 100000"} {
		if got := content(t, g.dir, name); got != want {
			t.Errorf("%s is %q", name, got)
		}
	}
	if err := g.Enter(1234); err != nil || content(t, g.dir, "cgroup.procs") != "1234" {
		t.Error(err)
	}
	for i, want := range []bool{false, true, false} {
		events := "low 0\nmax 7\noom 1\noom_kill " + []string{"0", "1", "1"}[i] + "\n"
		must(t, os.WriteFile(filepath.Join(g.dir, "memory.events"), []byte(events), 0o644))
		if got := g.KilledForMemory(); got != want {
			t.Errorf("%d: %v", i, got)
		}
	}
	g.Remove()
	if got := content(t, g.dir, "cgroup.kill"); got != "1" {
		t.Errorf("%q", got)
	}
}

// A group that can't be limited as asked for is none.
func TestGroupWithoutItsFiles(t *testing.T) {
	dir := fakeCgroup(t, t.TempDir())
	groups := &Groups{dir: dir}
	if _, err := groups.Add(Limits{Memory: 1}); err == nil {
		t.Error("no error")
	}
	if _, err := os.Stat(filepath.Join(dir, "session-1")); err == nil {
		t.Error("it is left")
	}
}
