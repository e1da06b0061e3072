package config

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestSandboxMode(t *testing.T) {
	for _, test := range []struct {
		asked   string
		network bool
		system  string
		want    string
	}{
		{SandboxAuto, true, "linux", SandboxStandard},
		{SandboxAuto, false, "linux", SandboxOff},
		{SandboxAuto, true, "darwin", SandboxOff},
		{SandboxAuto, true, "windows", SandboxOff},
		{SandboxStandard, false, "linux", SandboxStandard},
		{SandboxStrict, true, "linux", SandboxStrict},
		{SandboxOff, true, "linux", SandboxOff},
		{"", true, "linux", SandboxOff},
	} {
		got := sandboxMode(test.asked, test.network, test.system)
		expect(t, got == test.want, "%+v: %s", test, got)
	}
}

func TestSandboxNeedsASystemThatHasIt(t *testing.T) {
	c := must(t, nil).Serve.Confine
	for mode, systems := range map[string][]string{
		SandboxOff: {"linux", "darwin", "windows"}, SandboxStandard: {"linux", "darwin"}, SandboxStrict: {"linux"},
	} {
		for _, system := range []string{"linux", "darwin", "windows"} {
			err := c.check(mode, system)
			expect(t, (err == nil) == slices.Contains(systems, system), "%s on %s: %v", mode, system, err)
		}
	}
}

func TestConfineSettings(t *testing.T) {
	one, two := t.TempDir(), t.TempDir()
	c := must(t, configFile(t, "read: ["+one+", "+two+"]\nallow-net: [pypi.org, '*.pythonhosted.org']\nmemory-limit: 2GB\n"),
		"--sandbox", "standard", "--write", one, "--write", two, "--sandbox-floor", "landlock,seccomp",
		"--process-limit", "64", "--disk-limit", "none", "--cpu-limit", "1.5").Serve.Confine
	want := Confine{
		Sandbox: SandboxStandard, SandboxFloor: []string{"landlock", "seccomp"},
		AllowNet: []string{"pypi.org", "*.pythonhosted.org"}, Read: []string{one, two}, Write: []string{one, two},
		MemoryLimit: 2_000_000_000, ProcessLimit: 64, CPULimit: 1.5, OpenFileLimit: LimitAuto, FileSizeLimit: LimitAuto, DiskLimit: LimitNone,
	}
	diff := cmp.Diff(want, c)
	expect(t, diff == "", "%+v", diff)
	expect(t, !c.AllowsAllNet() && must(t, nil, "--sandbox", "standard", "--allow-net", "all").Serve.AllowsAllNet(), "all hosts are taken for some")
	for asked, want := range map[string]int{"none": 0, "all": 1, "0,02": 2} {
		got := must(t, map[string]string{"UNDERSTUDY_GPU": asked}, "--sandbox", "standard").Serve.Cards()
		expect(t, len(got) == want, "of %s: %q", asked, got)
	}
	err := (Confine{GPU: []string{"0"}}).check(SandboxStandard, "darwin")
	expect(t, err != nil && strings.Contains(err.Error(), "gpu opens NVIDIA's cards on Linux"), "%+v", err)
}

func TestConfineMistakes(t *testing.T) {
	dir := t.TempDir()
	for name, test := range map[string]struct {
		args []string
		want string
	}{
		"a mode":             {[]string{"--sandbox", "hard"}, "auto"},
		"a layer":            {[]string{"--sandbox", "standard", "--sandbox-floor", "landlock,chroot"}, `"chroot" is no layer`},
		"a floor over stdio": {[]string{"--sandbox-floor", "landlock"}, "sandbox-floor needs the sandbox"},
		"off and a host":     {[]string{"--sandbox", "off", "--allow-net", "pypi.org"}, "so all is open"},
		"stdio and a host":   {[]string{"--allow-net", "pypi.org"}, "is off here (auto is standard for HTTP"},
		"stdio and a path":   {[]string{"--write", dir}, "so all is open; say --sandbox standard"},
		"connect and a path": {[]string{"connect", "--read", dir}, "so all is open; say --sandbox standard"},
		"off and a path":     {[]string{"--sandbox", "off", "--read", dir}, "so all is open"},
		"all and hosts":      {[]string{"--sandbox", "standard", "--allow-net", "pypi.org,all"}, "allow-net is all and hosts"},
		"no host":            {[]string{"--sandbox", "standard", "--allow-net", "none"}, `"none" is no host; without --allow-net`},
		"off and a card":     {[]string{"--gpu", "all"}, "so all is open"},
		"a card and none":    {[]string{"--sandbox", "standard", "--gpu", "0,none"}, "gpu is 0,none; write none or all alone"},
		"all and a card":     {[]string{"--sandbox", "standard", "--gpu", "all,1"}, "gpu is all,1"},
		"a card's name":      {[]string{"--sandbox", "standard", "--gpu", "H100"}, `"H100" is no card; write none, all, or numbers`},
		"no path":            {[]string{"--read", dir + "/nothing"}, "that is there"},
		"an empty path":      {[]string{"--read", "," + dir}, "has an empty path"},
		"CPUs":               {[]string{"--cpu-limit=-1"}, "cpu-limit is -1"},
		"no CPUs":            {[]string{"--cpu-limit", "NaN"}, "cpu-limit is NaN"},
		"a limit":            {[]string{"--memory-limit", "much"}, `"much" is no limit; write 4096, 900KB, 1MiB or 2GB, auto or none`},
		"bytes for MB":       {[]string{"--memory-limit", "512"}, "memory-limit is 512; it must be at least 67108864"},
		"a number":           {[]string{"--process-limit", "1GB"}, `"1GB" is no limit; write a number as 512`},
		"a negative limit":   {[]string{"--process-limit=-1"}, `"-1" is no limit`},
		"few processes":      {[]string{"--process-limit", "1"}, "process-limit is 1"},
	} {
		_, err := try(t, nil, test.args...)
		expect(t, err != nil && strings.Contains(err.Error(), test.want), "%s: %v", name, err)
	}
	// A doctor says what serve would say.
	_, err := try(t, map[string]string{"UNDERSTUDY_ALLOW_NET": "pypi.org"}, "doctor")
	expect(t, err != nil && strings.Contains(err.Error(), "so all is open"), "doctor: %v", err)
	must(t, map[string]string{"UNDERSTUDY_ALLOW_NET": "pypi.org", "UNDERSTUDY_SANDBOX": "standard"}, "doctor")
}

// TestSharesOfTheServersOwn: nothing that sessions may reach holds what is the
// server's own.
func TestSharesOfTheServersOwn(t *testing.T) {
	root := t.TempDir()
	data, other, plugins := filepath.Join(root, "data"), filepath.Join(root, "other"), filepath.Join(root, "other", "plugins")
	for _, dir := range []string{data, plugins} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	link := filepath.Join(other, "link")
	if err := os.Symlink(root, link); err != nil {
		t.Skip("links can't be made here: ", err)
	}
	for name, test := range map[string]struct {
		args []string
		want string // "": taken
	}{
		"beside it":             {[]string{"--read", other, "--write", other}, ""},
		"the data directory":    {[]string{"--read", data}, "read is " + data + ", which holds the data directory"},
		"above it":              {[]string{"--write", root}, "write is " + root + ", which holds the data directory"},
		"all":                   {[]string{"--read", "/"}, "holds the data directory"},
		"above it by a link":    {[]string{"--read", link}, "read is " + link},
		"as working directory":  {[]string{"--workdir", root}, "workdir is " + root},
		"a journal elsewhere":   {[]string{"--read", other, "--journal", filepath.Join(other, "j.db")}, "the journal"},
		"plugins to be read":    {[]string{"--read", other, "--plugins", plugins}, ""},
		"plugins to be written": {[]string{"--write", other, "--plugins", plugins}, "the plugins"},
		"without a sandbox":     {[]string{"--workdir", root, "--sandbox", "off"}, ""},
	} {
		args := append([]string{"--sandbox", "standard", "--data-dir", data}, test.args...)
		_, err := try(t, nil, args...)
		expect(t, (err == nil) == (test.want == "") && (err == nil || strings.Contains(err.Error(), test.want)), "%s: %v", name, err)
	}
}

func TestSharesHome(t *testing.T) {
	home := t.TempDir()
	for read, want := range map[string]string{home: "read", t.TempDir(): ""} {
		c := must(t, nil, "--data-dir", t.TempDir(), "--sandbox", "standard", "--read", read)
		t.Setenv("HOME", home)
		t.Setenv("USERPROFILE", home)
		setting, path := c.SharesHome()
		expect(t, setting == want && (want == "" || path == home), "%s: %q %q", read, setting, path)
	}
}
