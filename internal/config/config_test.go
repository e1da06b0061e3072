package config

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"understudy/internal/check"
)

// try parses a command line in an environment of its own.
func try(t *testing.T, env map[string]string, args ...string) (*Config, error) {
	t.Helper()
	for _, name := range []string{"HOME", "USERPROFILE"} {
		t.Setenv(name, t.TempDir())
	}
	for _, name := range []string{"XDG_CONFIG_HOME", "XDG_DATA_HOME"} {
		t.Setenv(name, env[name])
	}
	return Parse(Source{
		Args: args,
		Lookup: func(name string) (string, bool) {
			value, ok := env[name]
			return value, ok
		},
		Stdout: &bytes.Buffer{},
		Exit:   func(int) {},
	})
}

func must(t *testing.T, env map[string]string, args ...string) *Config {
	t.Helper()
	config, err := try(t, env, args...)
	if err != nil {
		t.Fatal(err)
	}
	return config
}

var expect = check.Expect

// fileWith is a file of its own with this text.
func fileWith(t *testing.T, name, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, []byte(text), 0o600)); err != nil {
		t.Fatal(err)
	}
	return path
}

// configFile writes a file and returns the environment that names it.
func configFile(t *testing.T, text string) map[string]string {
	t.Helper()
	return map[string]string{"UNDERSTUDY_CONFIG": fileWith(t, "config.yaml", text)}
}

// TestSettingsArrive from wherever they come.
func TestSettingsArrive(t *testing.T) {
	several := configFile(t, "data:\n  - a,b.csv\n  - /c.csv\n") // as a server writes it into an experiment's config.yaml
	empty := configFile(t, "timeout: 2s\n")
	empty["UNDERSTUDY_TIMEOUT"] = ""
	usual := fileWith(t, "understudy/config.yaml", "python: /opt/py\n")
	for name, test := range map[string]struct {
		env  map[string]string
		args []string
		got  func(c *Config) any
		want any
	}{
		"the usual command":                 {nil, nil, func(c *Config) any { return c.Command + " in " + filepath.Base(c.DataDir) }, "serve in understudy"},
		"the file at its usual place":       {map[string]string{"XDG_CONFIG_HOME": filepath.Dir(filepath.Dir(usual))}, []string{"doctor"}, func(c *Config) any { return c.Python }, "/opt/py"},
		"the flag over its variable":        {configFile(t, "history: 1\n"), []string{"--config", fileWith(t, "two.yaml", "history: 2\n")}, func(c *Config) any { return c.Serve.History }, 2},
		"an empty variable is none":         {empty, nil, func(c *Config) any { return c.Serve.Timeout }, 2 * time.Second},
		"several lines of code":             {configFile(t, "init-code: |\n  import math\n  x = 1\nkeep-workdirs: yes\n"), nil, func(c *Config) any { return []any{c.Serve.InitCode, c.Serve.KeepWorkdirs} }, []any{"import math\nx = 1\n", true}},
		"code":                              {nil, []string{"--init-code", "y = 2"}, func(c *Config) any { return c.Serve.InitCode }, "y = 2"},
		"code from a file":                  {nil, []string{"--init-code", "@" + fileWith(t, "init.py", "x = 1\n")}, func(c *Config) any { return c.Serve.InitCode }, "x = 1\n"},
		"several data":                      {several, nil, func(c *Config) any { return c.Serve.Data }, []string{filepath.Join(filepath.Dir(several["UNDERSTUDY_CONFIG"]), "a,b.csv"), "/c.csv"}},
		"the arguments of what it installs": {nil, []string{"install", "--client", "codex", "--", "--timeout", "10m"}, func(c *Config) any { return c.Install.Args }, []string{"--timeout", "10m"}},
	} {
		diff := cmp.Diff(test.want, test.got(must(t, test.env, test.args...)))
		expect(t, diff == "", "%s: %s", name, diff)
	}
}

func TestServeIsTheDefaultCommand(t *testing.T) {
	bare := must(t, nil, "--timeout", "10m", "--python", "python3.12")
	named := must(t, nil, "serve", "--timeout", "10m", "--python", "python3.12")
	expect(t, bare.Serve.Timeout == 10*time.Minute && bare.Python == "python3.12", "flags without a command were not taken: %+v", bare)
	expect(t, bare.Command == named.Command && cmp.Equal(bare.Serve, named.Serve) && bare.Python == named.Python,
		"understudy FLAGS and understudy serve FLAGS differ:\n%+v\n%+v", bare, named)
}

func TestFlagOverEnvironmentOverFileOverDefault(t *testing.T) {
	env := configFile(t, "wait: 1s\ntimeout: 2s\nhistory: 3\n")
	env["UNDERSTUDY_TIMEOUT"] = "20s"
	env["UNDERSTUDY_HISTORY"] = "30"
	s := must(t, env, "--history", "300").Serve
	expect(t, s.Wait == time.Second, "file over default: wait is %v", s.Wait)
	expect(t, s.Timeout == 20*time.Second, "environment over file: timeout is %v", s.Timeout)
	expect(t, s.History == 300, "flag over environment: history is %v", s.History)
	expect(t, s.Grace == 5*time.Second, "default: grace is %v", s.Grace)
}

// TestARelativePlaceIsNone: the file at its usual place counts, and is not passed over.
func TestARelativePlaceIsNone(t *testing.T) {
	if runtime.GOOS == "windows" || runtime.GOOS == "darwin" {
		t.Skip("the system has a place of its own")
	}
	t.Setenv("XDG_CONFIG_HOME", "relative")
	t.Setenv("HOME", t.TempDir())
	file, err := defaultFile()
	expect(t, err == nil && file == filepath.Join(os.Getenv("HOME"), ".config", "understudy", "config.yaml"), "%+v %+v", file, err)
}

func TestFileOfEveryKind(t *testing.T) {
	for name, test := range map[string]struct {
		text    string
		history int
	}{
		"empty":         {"", 1},
		"comments":      {"# history: 3\n", 1},
		"null":          {"---\n", 1},
		"quoted number": {"history: '3'\n", 3},
		"bom":           {"\ufeffhistory: 3\n", 3},
		"alias":         {"history: &n 3\nmax-sessions: *n\n", 3},
		"crlf":          {"history: 3\r\n", 3},
	} {
		got := must(t, configFile(t, test.text)).Serve.History
		expect(t, got == test.history, "%s: history is %d, not %d", name, got, test.history)
	}
}

// TestPathsInTheFileAreRelativeToIt, whatever they are part of; names and values that are
// no paths stay.
func TestPathsInTheFileAreRelativeToIt(t *testing.T) {
	env := configFile(t, `
workdir: .
plugins: sub
read: [sub, .]
write: sub, .
data: sub,a
run-dir: runs
journal: ../j.db
data-dir: /data
policy: rules.yaml
init-code: "@start.py"
python: bin/python
pythons: [old=bin/python3.10, new=python3.13]
echo: last
sandbox: standard
`)
	dir := filepath.Dir(env["UNDERSTUDY_CONFIG"])
	sub := filepath.Join(dir, "sub")
	if err := errors.Join(os.Mkdir(sub, 0o700), os.WriteFile(filepath.Join(dir, "start.py"), []byte("x = 1"), 0o600)); err != nil {
		t.Fatal(err)
	}
	c, err := parse(Source{Args: []string{"serve"}, Lookup: func(name string) (string, bool) { text, ok := env[name]; return text, ok }}.withDefaults())
	if c == nil { // that workdir and data exclude each other comes after
		t.Fatal(err)
	}
	s := c.Serve
	got := []any{s.Workdir, s.Plugins, s.Read, s.Write, s.Data, s.RunDir, c.Journal, c.DataDir, s.Policy, s.InitCode, c.Python, s.Pythons, s.Echo}
	want := []any{dir, sub, []string{sub, dir}, []string{sub, dir}, []string{sub + ",a"}, filepath.Join(dir, "runs"),
		filepath.Join(filepath.Dir(dir), "j.db"), "/data", filepath.Join(dir, "rules.yaml"), "x = 1", filepath.Join(dir, "bin", "python"),
		[]string{"old=" + filepath.Join(dir, "bin", "python3.10"), "new=python3.13"}, "last"}
	diff := cmp.Diff(want, got)
	expect(t, diff == "", "%+v", diff)
}

func TestNoTimeLimit(t *testing.T) {
	for _, args := range [][]string{{"--timeout", "none", "--max-timeout", "none"}, {"--max-timeout", "none", "--timeout", "1000h"}} {
		c := must(t, nil, args...)
		text, err := c.YAML()
		expect(t, err == nil && c.Serve.MaxTimeout == LimitNone && strings.Contains(text, "max-timeout: none\n"), "%v: %v %v", args, c.Serve.MaxTimeout, err)
	}
}

func TestErrorsSayWhereAndWhat(t *testing.T) {
	for name, test := range map[string]struct {
		file string
		env  string
		args []string
		want []string
	}{
		"misspelt key":      {file: "a: 1", want: []string{"config.yaml, line 1: a:", "unknown setting, and none has a name like it; understudy serve --help"}},
		"near key":          {file: "\ntimout: 1m", want: []string{"line 2: timout", `did you mean "timeout"`}},
		"a word of a key":   {file: "max_memory: 1GB", want: []string{`did you mean "memory-limit"`}},
		"a longer key":      {file: "timeout_seconds: 9", want: []string{`did you mean "timeout"`}},
		"far from a key":    {file: "jornall: a", want: []string{`did you mean "journal"`}},
		"every unknown key": {file: "timout: 1m\nhistroy: 3", want: []string{"line 1: timout", "line 2: histroy", `did you mean "history"`}},
		"underscored key":   {file: "max_timeout: 1m", want: []string{`did you mean "max-timeout"`}},
		"a former key":      {file: "Max_Request: 1GB", want: []string{"max-request was one, and is always 64 MiB: take the line out"}},
		"twice":             {file: "history: 1\nhistory: 2", want: []string{"history", "twice"}},
		"bad value":         {file: "timeout: soon", want: []string{"config.yaml, line 1: timeout", `"soon" is not a duration`}},
		"bad enum":          {file: "echo: some", want: []string{"line 1: echo", "all,last,none"}},
		"no value":          {file: "history:", want: []string{"history", "no value"}},
		"a list":            {file: "history: [1]", want: []string{"history", "one text, number"}},
		"not a mapping":     {file: "- history", want: []string{"config.yaml", "mapping"}},
		"not YAML":          {file: "a: b: c", want: []string{"config.yaml", "yaml"}},
		"two documents":     {file: "history: 1\n---\nhistory: 2", want: []string{"one YAML document"}},
		"itself":            {file: "config: x.yaml", want: []string{"unknown setting"}},
		"another command's": {file: "scope: user", want: []string{"unknown setting"}},
		"environment":       {env: "1 hour", want: []string{"UNDERSTUDY_TIMEOUT", `"1 hour" is not a duration`}},
		"flag":              {args: []string{"--timeout", "soon"}, want: []string{"--timeout", `"soon" is not a duration`}},
		"negative":          {args: []string{"--grace=-1s"}, want: []string{"--grace", "negative"}},
		"size":              {args: []string{"--image-budget", "big"}, want: []string{"--image-budget", `"big" is not a size`}},
		"transport":         {args: []string{"--transport", "https"}, want: []string{"--transport", "https", "stdio, http, sse"}},
		"stdio and more":    {args: []string{"--transport", "stdio,http"}, want: []string{"transport", "stands alone"}},
		"open to all":       {args: []string{"--transport", "http", "--addr", ":8808"}, want: []string{"addr is :8808", "--allow-unauthenticated-network"}},
		"open by address":   {args: []string{"--transport", "sse", "--addr", "192.0.2.1:8808"}, want: []string{"192.0.2.1", "authentication"}},
		"open by name":      {args: []string{"--transport", "http", "--addr", "example.com:8808"}, want: []string{"example.com", "authentication"}},
		"no port":           {args: []string{"--transport", "http", "--addr", "127.0.0.1"}, want: []string{"HOST:PORT"}},
		"half of TLS":       {args: []string{"--transport", "http", "--tls-cert", "c.pem"}, want: []string{"tls-cert and tls-key"}},
		"TLS on a socket":   {args: []string{"--transport", "http", "--socket", "s", "--tls-cert", "c", "--tls-key", "k"}, want: []string{"socket and tls-cert"}},
		"every origin":      {args: []string{"--allow-origin", "*"}, want: []string{"--allow-origin", `"*" is no origin`}},
		"a page":            {args: []string{"--allow-origin", "https://a.example,https://b.example/page"}, want: []string{`b.example/page" is no origin`}},
		"some hosts":        {args: []string{"--allow-host", "*.example.com"}, want: []string{"--allow-host", "no name of a host"}},
		"a negative rate":   {args: []string{"--transport", "http", "--max-requests-per-second", "-1"}, want: []string{"max-requests-per-second"}},
		"no limit, limited": {args: []string{"--timeout", "none"}, want: []string{"timeout is none", "say --max-timeout none, too"}},
		"no time at all":    {args: []string{"--timeout", "0"}, want: []string{"--timeout", "or none for no limit"}},
		"contradiction":     {args: []string{"--timeout", "2h", "--max-timeout", "1h"}, want: []string{"timeout", "max-timeout"}},
		"too small":         {args: []string{"--text-budget", "10"}, want: []string{"text-budget", "at least 1000"}},
		"start":             {file: "start: fork", want: []string{"line 1: start", "zygote,spawn"}},
		"modules":           {args: []string{"--preload", "numpy,pandas as pd"}, want: []string{"--preload", `"pandas as pd" is not the name of a module`}},
		"modules in a file": {file: "preload: numpy;os", want: []string{"line 1: preload", `"numpy;os"`}},
		"history":           {args: []string{"--history=-1"}, want: []string{"history", "at least 0"}},
		"more than all":     {args: []string{"--checkpoint-memory", "50"}, want: []string{"checkpoint-memory is 50", "from 0 to 1"}},
		"no number":         {args: []string{"--checkpoint-memory", "NaN"}, want: []string{"checkpoint-memory", "from 0 to 1"}},
		"no copies":         {args: []string{"--copy-share", "0"}, want: []string{"copy-share is 0", "from 0.00001 to 1; --checkpoint-memory 0 makes no copies"}},
		"no processors":     {args: []string{"--cpu-limit=-1"}, want: []string{"cpu-limit is -1", "; 0 sets no limit"}},
		"a URL":             {args: []string{"--allow-net", "http://pypi.org"}, want: []string{"--allow-net", "a host, not a URL, as pypi.org"}},
		"client's limit":    {args: []string{"--max-sessions-per-client=-1"}, want: []string{"max-sessions-per-client", "at least 0"}},
		"no such default":   {args: []string{"--default-interpreter", "mine"}, want: []string{"--default-interpreter", "none"}},
		"when full":         {args: []string{"--when-full", "wait"}, want: []string{"--when-full", "end-oldest"}},
		"unknown flag":      {args: []string{"--timout", "1"}, want: []string{"--timout", "--timeout"}},
		"no client":         {args: []string{"install"}, want: []string{"--client"}},
		"unknown command":   {args: []string{"setpu"}, want: []string{"setpu"}},
		"absent file":       {args: []string{"--config", "/nowhere/x.yaml"}, want: []string{"/nowhere/x.yaml"}},
		"absent code":       {args: []string{"--init-code", "@/nowhere/x.py"}, want: []string{"--init-code", "/nowhere/x.py"}},
		"absent workdir":    {args: []string{"--workdir", "/nowhere"}, want: []string{"--workdir", "nowhere"}},
	} {
		t.Run(name, func(t *testing.T) {
			env := map[string]string{}
			if test.file != "" {
				env = configFile(t, test.file)
			}
			if test.env != "" {
				env["UNDERSTUDY_TIMEOUT"] = test.env
			}
			_, err := try(t, env, test.args...)
			var usage *UsageError
			if !errors.As(err, &usage) {
				t.Fatalf("got %v, not a UsageError", err)
			}
			for _, want := range test.want {
				expect(t, strings.Contains(err.Error(), want), "%q lacks %q", err, want)
			}
		})
	}
}

func TestABrokenFileDoesNotStopVersion(t *testing.T) {
	env := configFile(t, "timout: 1\n")
	got := must(t, env, "version").Command
	expect(t, got == "version", "command is %q", got)
	_, err := try(t, env, "doctor")
	expect(t, err != nil, "doctor took a broken file")
}

func TestDurations(t *testing.T) {
	for text, want := range map[string]time.Duration{
		"45": 45 * time.Second, "0.5": 500 * time.Millisecond, "45s": 45 * time.Second,
		"1h30m": 90 * time.Minute, "0": 0, "1e3": 1000 * time.Second,
	} {
		got, err := parseDuration(text)
		expect(t, err == nil && got == want, "%q gives %v, %v; want %v", text, got, err, want)
	}
	for _, text := range []string{"", "1d", "-1", "-1s", "NaN", "Inf", "1e30", "one"} {
		got, err := parseDuration(text)
		expect(t, err != nil, "%q gives %v", text, got)
	}
}

func TestModules(t *testing.T) {
	for text, want := range map[string][]string{
		"none": nil, "": nil, " none ": nil, "numpy": {"numpy"}, "_a, b1.c_d ,numpy,numpy": {"_a", "b1.c_d", "numpy"},
	} {
		got := must(t, nil, "--preload", text).Serve.Preload
		expect(t, slices.Equal(got, want), "%q gives %q, not %q", text, got, want)
	}
	for _, text := range []string{"1a", "a..b", ".a", "a.", "a b", "import a", "a-b", "a;b", "none,a b"} {
		c, err := try(t, nil, "--preload", text)
		expect(t, err != nil, "%q gives %+v", text, c)
	}
	got := must(t, configFile(t, "preload: none\n"), "--preload", "a", "--preload", "b").Serve.Preload
	expect(t, slices.Equal(got, []string{"b"}), "the last flag does not win: %q", got)
	got = must(t, map[string]string{"UNDERSTUDY_PRELOAD": "scipy,json"}).Serve.Preload
	expect(t, slices.Equal(got, []string{"scipy", "json"}), "from the environment: %q", got)
}

func TestStartDependsOnTheSystem(t *testing.T) {
	for system, want := range map[string]string{"linux": "zygote", "darwin": "spawn", "windows": "spawn"} {
		got := defaultStart(system)
		expect(t, got == want, "%s: %s by default", system, got)
		expect(t, checkStart("spawn", system) == nil, "%s: no spawn", system)
		err := checkStart("zygote", system)
		expect(t, (err == nil) == (system == "linux"), "%s: %v", system, err)
		expect(t, err == nil || (strings.Contains(err.Error(), "needs Linux") && strings.Contains(err.Error(), "--start spawn")), "%+v", err)
	}
	got := must(t, nil, "--start", "spawn").Serve.Start
	expect(t, got == "spawn", "%+v", got)
}

// TestPluginsAreASettingOfTheirCommandsToo: what serve reads from the environment
// and the file, plugins list does too.
func TestPluginsAreASettingOfTheirCommandsToo(t *testing.T) {
	dir, other := t.TempDir(), t.TempDir()
	c := must(t, map[string]string{"UNDERSTUDY_PLUGINS": dir}, "plugins", "list")
	expect(t, c.Plugins.Dir == dir && c.Command == "plugins list" && c.DataDir != "", "%q of %q in %q", c.Plugins.Dir, c.Command, c.DataDir)
	c = must(t, configFile(t, "plugins: "+dir+"\n"), "plugins", "check", "a", "b")
	expect(t, c.Plugins.Dir == dir && len(c.Plugins.Check.Names) == 2 && c.DataDir != "", "%+v", c.Plugins)
	c = must(t, map[string]string{"UNDERSTUDY_PLUGINS": dir}, "plugins", "test", "--plugins", other)
	expect(t, c.Plugins.Dir == other, "%+v", c.Plugins)
	c = must(t, map[string]string{"UNDERSTUDY_PLUGINS": dir, "UNDERSTUDY_SESSION_VARIABLES": "a=b;c=d=e"})
	expect(t, c.Serve.Plugins == dir && c.Serve.SessionVariables["c"] == "d=e", "%+v", c.Serve.Guard)
	for _, args := range [][]string{{"plugins", "list"}, {"plugins", "list", "--plugins", filepath.Join(dir, "nothing")}, {"plugins"}} {
		_, err := try(t, nil, args...)
		expect(t, err != nil, "%q was taken", args)
	}
}

func TestHelpNamesDefaultsAndVariables(t *testing.T) {
	var out bytes.Buffer
	_, _ = Parse(Source{Args: []string{"serve", "--help"}, Stdout: &out, Exit: func(int) {}})
	for _, want := range []string{"Default: 45s.", "$UNDERSTUDY_MAX_TIMEOUT", "$UNDERSTUDY_CONFIG", "Limits"} {
		expect(t, strings.Contains(out.String(), want), "%q is not in the help:\n%s", want, &out)
	}
}

// Every setting must reach the configuration from the environment and from the
// file, so none can be forgotten in one of them.
func TestEverySettingComesFromEnvironmentAndFile(t *testing.T) {
	list, err := Settings()
	if err != nil {
		t.Fatal(err)
	}
	for _, setting := range list {
		if setting.Key == "" {
			continue
		}
		const wrong = "\x00"
		command := []string{"serve"}
		if setting.Group == "Gateway" {
			command = []string{"gateway", "--auth-tokens", "tokens"}
			if setting.Key != "pod-token" {
				command = append(command, "--pod-token", "token")
			}
		}
		fromEnv, err := try(t, map[string]string{setting.Env: wrong}, command...)
		checkArrived(t, setting.Env, setting.Key, wrong, fromEnv, err)
		fromFile, err := try(t, configFile(t, setting.Key+": \"\\0\"\n"), command...)
		checkArrived(t, "line 1: "+setting.Key, setting.Key, wrong, fromFile, err)
	}
	expect(t, len(list) >= 34, "only %d settings are listed", len(list))
}

// checkArrived wants a value in the configuration, or refused under its name:
// with its place, or with its key alone when it does not go with the others.
func checkArrived(t *testing.T, place, key, value string, config *Config, err error) {
	t.Helper()
	switch {
	case err != nil && !strings.Contains(err.Error(), place) && !strings.Contains(err.Error(), key):
		t.Errorf("%s: %v", place, err)
	case err == nil && !strings.Contains(fmt.Sprintf("%+v", config), value):
		t.Errorf("%s was not read", place)
	}
}

// TestAddressesOfThisMachine need no authentication.
func TestAddressesOfThisMachine(t *testing.T) {
	for _, addr := range []string{"127.0.0.1:0", "localhost:8808", "[::1]:8808", "127.1.2.3:1", "[::ffff:127.0.0.1]:1"} {
		must(t, nil, "--transport", "http,sse", "--addr", addr)
	}
	must(t, nil, "--transport", "http", "--addr", ":8808", "--allow-unauthenticated-network")
	must(t, nil, "--transport", "http", "--addr", ":8808", "--socket", "s")
	must(t, nil, "--addr", ":8808") // which stdio does not use
}

func TestCodeFileIsABareName(t *testing.T) {
	for name, fine := range map[string]bool{
		"": true, "runfile.py": true, "my file.py": true, ".hidden": true, "ä.py": true,
		".": false, "..": false, "../x.py": false, "/tmp/x.py": false, "a/b.py": false, `a\b.py`: false, "C:x.py": false,
		"nul": false, "COM1.py": false, "a\x00b": false, "a\n.py": false, "\xff.py": false, strings.Repeat("a", 300): false,
	} {
		err := checkCodeFile(name)
		expect(t, (err == nil) == fine, "%q: %v", name, err)
	}
}

// connect takes the settings of the server that it starts, from wherever they come;
// how that server is reached is not for them to say.
func TestConnectHasTheSettingsOfServe(t *testing.T) {
	env := configFile(t, "transport: http\nhistory: 3\n")
	env["UNDERSTUDY_WAIT"] = "4s"
	config := must(t, env, "connect", "--share", "team", "--timeout", "10m", "--idle-exit", "1h")
	expect(t, config.Command == "connect" && config.Connect.Share == "team" && config.Connect.IdleExit == time.Hour, "%q %+v", config.Command, config.Connect)
	s := config.Serve
	expect(t, !s.OverNetwork() && s.History == 3 && s.Wait == 4*time.Second && s.Timeout == 10*time.Minute, "%+v", s)
}

// TestSettingsOfFormerVersions: a start with them works, wherever they stand, and they are
// named with what to do.
func TestSettingsOfFormerVersions(t *testing.T) {
	env := configFile(t, "queue: 3\nhistory: 4\n")
	env["UNDERSTUDY_MAX_CONNECTIONS"] = "9"
	for _, command := range []string{"serve", "connect", "doctor"} {
		args := []string{command}
		want := []string{"max-connections (it is always 2048; take out --max-connections, UNDERSTUDY_MAX_CONNECTIONS or ", "queue (it is always 16; "}
		if command != "doctor" {
			args, want = append(args, "--max-request", "1GB"), append([]string{"max-request (it is always 64 MiB; "}, want...)
		}
		config := must(t, env, args...)
		expect(t, config.Serve.History == 4 && slices.EqualFunc(config.Ignored, want, strings.HasPrefix),
			"%s: %d, ignored %q", command, config.Serve.History, config.Ignored)
		text, err := config.YAML()
		expect(t, err == nil && !strings.Contains(text, "queue"), "%v: %s", err, text)
	}
}

// TestEmptyListsAreMistakes where a list has no value for none.
func TestEmptyListsAreMistakes(t *testing.T) {
	for _, name := range []string{"transport", "allow-origin", "allow-host", "allow-modules", "block-modules", "block-functions", "sandbox-floor", "allow-net", "gpu", "pythons"} {
		for _, value := range []string{"[]", "''"} {
			_, err := try(t, configFile(t, name+": "+value))
			expect(t, err != nil && strings.Contains(err.Error(), "line 1: "+name), "%s: %s gives %v", name, value, err)
		}
		_, err := try(t, nil, "--"+name, "")
		expect(t, err != nil && strings.Contains(err.Error(), name), "--%s \"\" gives %v", name, err)
	}
}
