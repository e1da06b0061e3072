package plugins

import (
	"bytes"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func yamlOf(name string) string {
	return "name: " + name + "\ndescription: What " + name + " does. And more.\n"
}

// states tells plugins in short.
func states(all []Plugin) []string {
	var lines []string
	for _, p := range all {
		lines = append(lines, strings.TrimSpace(fmt.Sprintf("%s %s %s", p.Name, p.State, p.Reason())))
	}
	return lines
}

func TestDirectory(t *testing.T) {
	got := states(open(t, map[string]string{
		"a.yaml": yamlOf("a"), "a.py": "\ufeffx = 1\n",
		"b.yaml": yamlOf("b") + "enabled: false\n", "b.py": "",
		"c.yaml": yamlOf("c"),
		"d.yml":  yamlOf("d"), "d.py": "",
		"e.yaml": yamlOf("e"), "e.py": "\xff",
		"f.yaml": yamlOf("f"), "f.py": "#" + strings.Repeat("x", mostBytes),
		"open.yaml": yamlOf("open"), "open.py": "",
		"g.yaml": "\xff", "g.py": "",
		"h.yaml": "", "helper.py": "", "README.md": "", ".#a.yaml": "", "a.yaml~": "",
	}))
	want := []string{
		"a ready", "b disabled",
		"c broken c.yaml: there is no c.py beside it",
		"d broken d.yml: it must be named d.yaml",
		"e broken e.py: it is not UTF-8",
		"f broken f.py: it has more than 1048576 bytes",
		"g broken g.yaml: it is not UTF-8",
		"h broken h.yaml:1: it is empty; it must be a mapping with name and description; h.yaml: there is no h.py beside it",
		`open broken open.yaml: "open" is Python's own; give the plugin another name`,
	}
	diff := cmp.Diff(want, got)
	expect(t, diff == "", "%v", diff)
}

// TestDisabledWins: what is switched off may be unfinished.
func TestDisabledWins(t *testing.T) {
	p := open(t, map[string]string{"a.yaml": "name: a\nenabled: false\nparameters: 3\n"})[0]
	expect(t, p.State == Disabled && len(p.Problems) == 3, "%s %q", p.State, p.Problems)
}

func TestSourceIsWithoutItsMark(t *testing.T) {
	p := open(t, map[string]string{"a.yaml": yamlOf("a"), "a.py": "\ufeffx = 1\n"})[0]
	expect(t, p.Source == "x = 1\n" && filepath.Base(p.File) == "a.py" && filepath.IsAbs(p.File), "%q of %s", p.Source, p.File)
}

func TestPluginsThatAreNoFiles(t *testing.T) {
	dir := write(t, map[string]string{"a.py": "", "b.yaml": yamlOf("b"), "c.yaml": yamlOf("c")})
	for _, name := range []string{"a.yaml", "b.py"} {
		must(t, os.Mkdir(filepath.Join(dir, name), 0o700))
	}
	want := []string{"a broken a.yaml: it is no regular file", "b broken b.py: it is no regular file", "c broken c.yaml: there is no c.py beside it"}
	if runtime.GOOS != "windows" {
		must(t, os.Symlink("nowhere", filepath.Join(dir, "c.py")))
		want[2] = "c broken c.py: it can't be read: no such file or directory"
	}
	r, err := Open(dir, Options{})
	must(t, err)
	diff := cmp.Diff(want, states(r.Set().Plugins))
	expect(t, diff == "", "%v", diff)
}

func TestTooMuch(t *testing.T) {
	files := map[string]string{}
	for i := range mostPlugins + 1 {
		name := fmt.Sprintf("p%03d", i)
		files[name+".yaml"], files[name+".py"] = yamlOf(name), ""
	}
	all := open(t, files)
	if last := all[mostPlugins]; last.State != Broken || all[mostPlugins-1].State != Ready {
		t.Errorf("the last one is %s: %s", last.State, last.Reason())
	}

	files = map[string]string{}
	for i := range 9 {
		name := fmt.Sprintf("p%03d", i)
		files[name+".yaml"], files[name+".py"] = yamlOf(name), strings.Repeat("#", mostBytes)
	}
	all = open(t, files)
	if last := all[8]; last.State != Broken || last.Source != "" || all[7].State != Ready {
		t.Errorf("the last one is %s: %s", last.State, last.Reason())
	}
}

func TestOpenRefuses(t *testing.T) {
	dir := write(t, map[string]string{"file": ""})
	for _, path := range []string{filepath.Join(dir, "nothing"), filepath.Join(dir, "file")} {
		_, err := Open(path, Options{})
		expect(t, err != nil && strings.HasPrefix(err.Error(), "plugins: "), "%s: %v", path, err)
	}
}

// library is a directory whose registry is asked as if a second had passed.
type library struct {
	*Registry
	t       *testing.T
	log     bytes.Buffer
	changed int
}

func newLibrary(t *testing.T, files map[string]string) *library {
	t.Helper()
	l := &library{t: t}
	logger := slog.New(slog.NewTextHandler(&l.log, &slog.HandlerOptions{ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
		if a.Key == slog.TimeKey {
			return slog.Attr{}
		}
		return a
	}}))
	l.Registry = &Registry{dir: write(t, files)}
	for name, text := range files {
		l.put(name, text, time.Hour)
	}
	r, err := Open(l.dir, Options{Logger: logger, Changed: func() { l.changed++ }})
	must(t, err)
	l.Registry = r
	return l
}

// put writes a file as if that had been done so long ago.
func (l *library) put(name, text string, ago time.Duration) (when time.Time) {
	l.t.Helper()
	path := filepath.Join(l.dir, name)
	when = time.Now().Add(-ago)
	must(l.t, os.WriteFile(path, []byte(text), 0o600))
	must(l.t, os.Chtimes(path, when, when))
	return when
}

func (l *library) remove(name string) {
	l.t.Helper()
	must(l.t, os.Remove(filepath.Join(l.dir, name)))
}

func (l *library) later() Set {
	l.mu.Lock()
	l.looked = time.Time{}
	l.mu.Unlock()
	return l.Set()
}

// at has the files looked at as if it were that moment: what counts as fresh does not
// depend on how long the test takes.
func (l *library) at(now time.Time) Set {
	l.mu.Lock()
	changed := l.look(now)
	l.mu.Unlock()
	if changed {
		l.options.Changed()
	}
	return l.Known()
}

// soon asks when less than a second has passed since the last look.
func (l *library) soon() Set {
	l.mu.Lock()
	l.looked = time.Now().Add(time.Minute)
	l.mu.Unlock()
	return l.Set()
}

// logged returns what was logged since the last call.
func (l *library) logged() string {
	text := l.log.String()
	l.log.Reset()
	return text
}

func (l *library) expect(set Set, revision int, log string, want ...string) {
	l.t.Helper()
	diff := cmp.Diff(want, states(set.Plugins))
	expect(l.t, diff == "", "%v", diff)
	if set.Revision != revision || l.changed != revision-1 {
		l.t.Errorf("revision %d, not %d, and %d calls of Changed", set.Revision, revision, l.changed)
	}
	if diff := cmp.Diff(log, l.logged()); diff != "" {
		l.t.Error(diff)
	}
}

// TestReload: plugins come, change, break and go while the registry lives, and
// each change is told once.
func TestReload(t *testing.T) {
	l := newLibrary(t, map[string]string{"a.yaml": yamlOf("a"), "a.py": "1"})
	l.expect(l.Set(), 1, "level=INFO msg=\"plugin found\" plugin=a state=ready\n", "a ready")
	l.expect(l.later(), 1, "", "a ready")

	l.put("a.py", "2", time.Minute)
	l.expect(l.soon(), 1, "", "a ready")
	l.expect(l.later(), 2, "level=INFO msg=\"plugin changed\" plugin=a state=ready\n", "a ready")
	l.expect(l.later(), 2, "", "a ready")

	l.put("b.yaml", "name: b\n", time.Minute)
	l.put("b.py", "", time.Minute)
	l.expect(l.later(), 3, "level=ERROR msg=\"plugin is broken\" plugin=b reason=\"b.yaml:1: it has no description\"\n",
		"a ready", "b broken b.yaml:1: it has no description")
	l.expect(l.later(), 3, "", "a ready", "b broken b.yaml:1: it has no description")

	l.put("b.yaml", yamlOf("b")+"enabled: false\n", time.Minute)
	l.expect(l.later(), 4, "level=INFO msg=\"plugin changed\" plugin=b state=disabled\n", "a ready", "b disabled")

	l.remove("a.yaml")
	l.expect(l.later(), 5, "level=INFO msg=\"plugin changed\" plugin=b state=disabled\nlevel=INFO msg=\"plugin removed\" plugin=a\n", "b disabled") // a.py is a helper now
}

// TestHelpersAreWatched: a plugin whose helper has changed must be loaded anew.
func TestHelpersAreWatched(t *testing.T) {
	l := newLibrary(t, map[string]string{"a.yaml": yamlOf("a"), "a.py": "import common", "common.py": "1"})
	before := l.Set()
	l.put("common.py", "2", time.Minute)
	after := l.later()
	expect(t, after.Revision != before.Revision && after.Plugins[0].Version != before.Plugins[0].Version, "nothing has changed")
	// So may be a package.
	must(t, os.MkdirAll(filepath.Join(l.dir, "pack", "deep"), 0o700))
	l.put("pack/deep/m.py", "1", time.Minute)
	now := l.later()
	expect(t, now.Revision == after.Revision, "a directory without __init__.py counts")
	l.put("pack/__init__.py", "", time.Minute)
	before = l.later()
	l.put("pack/deep/m.py", "2", time.Hour)
	l.put("pack/data.csv", "2", time.Hour)
	after = l.later()
	expect(t, after.Revision == before.Revision+1, "a module of a package is not watched")
	// The same text once more is no change.
	l.put("common.py", "2", time.Hour)
	again := l.later()
	expect(t, again.Revision == after.Revision, "a touched file is a change")
}

// TestFreshFileIsReadAgain: two changes may have one time and one size.
func TestFreshFileIsReadAgain(t *testing.T) {
	l := newLibrary(t, map[string]string{"a.yaml": yamlOf("a"), "a.py": "1"})
	path := filepath.Join(l.dir, "a.py")
	l.at(l.put("a.py", "2", 0))
	info, err := os.Stat(path)
	must(t, err)
	l.put("a.py", "3", 0)
	must(t, os.Chtimes(path, info.ModTime(), info.ModTime()))
	if set := l.later(); set.Plugins[0].Source != "3" {
		t.Errorf("the source is %q", set.Plugins[0].Source)
	}
}

// TestSettledFilesAreNotRead: calls would wait for it.
func TestSettledFilesAreNotRead(t *testing.T) {
	l := newLibrary(t, map[string]string{"a.yaml": yamlOf("a"), "a.py": "1"})
	path := filepath.Join(l.dir, "a.py")
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	l.put("a.py", "2", time.Hour)
	if err := os.Chtimes(path, info.ModTime(), info.ModTime()); err != nil {
		t.Fatal(err)
	}
	if set := l.later(); set.Plugins[0].Source != "1" {
		t.Error("the files were read")
	}
}

// TestDirectoryGone: plugins outlive a file system that is away for a while.
func TestDirectoryGone(t *testing.T) {
	l := newLibrary(t, map[string]string{"a.yaml": yamlOf("a"), "a.py": "1"})
	l.logged()
	away := l.dir + "-away"
	must(t, os.Rename(l.dir, away))
	l.expect(l.later(), 1, fmt.Sprintf("level=ERROR msg=\"the plugins stay as they were read before\" dir=%s error=\"the directory is gone\"\n", l.dir), "a ready")
	l.expect(l.later(), 1, "", "a ready")
	must(t, os.Rename(away, l.dir))
	l.expect(l.later(), 1, "", "a ready")
}

func TestPreload(t *testing.T) {
	all := open(t, map[string]string{
		"a.yaml": yamlOf("a") + "preload: [numpy, sqlite3]\n", "a.py": "",
		"b.yaml": yamlOf("b") + "preload: [sqlite3, json]\n", "b.py": "",
		"c.yaml": yamlOf("c") + "enabled: false\npreload: [csv]\n", "c.py": "",
	})
	got := strings.Join((Set{Plugins: all}).Preload(), " ")
	expect(t, got == "numpy sqlite3 json", "%v", got)
}

func TestSummary(t *testing.T) {
	if got := Summary(Set{Plugins: []Plugin{{Name: "a", State: Disabled}}}); got != "" {
		t.Error(got)
	}
	var many []Plugin
	for i := range 30 {
		many = append(many, Plugin{Name: fmt.Sprintf("p%02d", i), State: Ready, Signature: "(a, b=1)", Description: "It does. More of it."})
	}
	many = append(many, Plugin{Name: "z", State: Broken})
	got := Summary(Set{Plugins: many})
	lines := strings.Split(got, "\n")
	for i, want := range map[int]string{
		0:  "Plugins, functions that code can call as they are (help(name) tells more):",
		1:  "- p00(a, b=1): It does.",
		20: "- p19(a, b=1): It does.",
		21: "- and 10 more, which search_plugins(\"words of what you need\") finds: p20, p21, p22, p23, p24, p25, p26, p27, p28, p29",
		22: "Broken plugins (a call says why): z",
	} {
		if lines[i] != want {
			t.Errorf("line %d is %q", i, lines[i])
		}
	}
	many[2].Description = strings.Repeat("long ", 700)
	if got := Summary(Set{Plugins: many}); !strings.Contains(got, "\n- p18(") || !strings.Contains(got, "lo…\n- p03(") {
		t.Error(got)
	}
	for i := range many {
		many[i].Description, many[i].Signature = strings.Repeat("é", 3000), "("+strings.Repeat("x, ", 500)+")"
		many[i].Name = strings.Repeat("n", 60)
	}
	if got := Summary(Set{Plugins: many}); len(got) > mostWords+3*mostNames {
		t.Errorf("%d bytes", len(got))
	}
}
