package app

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"
)

func TestWorkingDirectory(t *testing.T) {
	home := atHome(t)
	project := filepath.Join(home, "project")
	must(t, os.Mkdir(project, 0o755))
	mine := filepath.Join(home, "understudy")
	root := filepath.VolumeName(home) + string(filepath.Separator)
	for name, test := range map[string]struct {
		started  string
		args     []string
		dir, why string
	}{
		"a project":           {project, nil, project, "where the server was started"},
		"the root":            {root, nil, mine, "the server was started in " + root},
		"the home directory":  {home, nil, mine, "the server was started in the home directory"},
		"one that was named":  {root, []string{"--workdir", project}, project, "as set with --workdir"},
		"over a network":      {project, []string{"--transport", "http"}, "", "each interpreter has its own"},
		"a workspace":         {project, []string{"--data", project}, "", "the workspace that --data makes"},
		"a workspace's place": {project, []string{"--data", project, "--workspace", project}, project, "the workspace (--workspace)"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Chdir(test.started)
			dir, why := WorkingDirectory(serveConfig(t, test.args...))
			expect(t, dir == test.dir && why == test.why, "%q, %q", dir, why)
		})
	}
	_, err := os.Stat(mine)
	expect(t, err != nil, "it was made before anybody works there")
}

// Where the server finds no directory of its user's alone, it works in the data directory.
func TestNoHomeToWorkIn(t *testing.T) {
	root := filepath.VolumeName(t.TempDir()) + string(filepath.Separator)
	give := func(t *testing.T, mine string) {
		makeDir(t, mine, 0o755)
		if err := os.Chown(mine, 4242, -1); err != nil {
			t.Skip("nothing can be given away: ", err)
		}
	}
	for name, test := range map[string]struct {
		prepare func(t *testing.T, mine string)
		args    []string
		why     string // "" for ~/understudy
	}{
		"it is to be made":  {func(*testing.T, string) {}, nil, ""},
		"there":             {func(t *testing.T, mine string) { makeDir(t, mine, 0o755) }, nil, ""},
		"of all users":      {func(t *testing.T, mine string) { makeDir(t, mine, 0o777) }, nil, "can be written to by every user"},
		"another's":         {give, nil, "belongs to another user (4242)"},
		"given to the code": {give, []string{"--sandbox", "standard"}, ""},
		"a file": {func(t *testing.T, mine string) {
			must(t, os.WriteFile(mine, nil, 0o600))
		}, nil, "is no directory"},
		"no home": {func(t *testing.T, _ string) {
			for _, name := range []string{"HOME", "USERPROFILE"} {
				t.Setenv(name, "")
			}
		}, nil, "the home directory is unknown"},
	} {
		t.Run(name, func(t *testing.T) {
			mine := filepath.Join(atHome(t), "understudy")
			if runtime.GOOS == "windows" && strings.Contains(test.why, "user") {
				t.Skip("a home directory is its user's alone")
			}
			data := t.TempDir()
			c := serveConfig(t, append(test.args, "--data-dir", data)...)
			test.prepare(t, mine)
			t.Chdir(root)
			dir, why := WorkingDirectory(c)
			want := mine
			if test.why != "" {
				want = filepath.Join(data, "project")
			}
			expect(t, dir == want && strings.HasPrefix(why, "the server was started in "+root) && strings.Contains(why, test.why), "%q, %q", dir, why)
		})
	}
}

func makeDir(t *testing.T, path string, mode os.FileMode) {
	t.Helper()
	must(t, errors.Join(os.Mkdir(path, mode), os.Chmod(path, mode)))
}

func TestPathOfURI(t *testing.T) {
	for uri, want := range map[string][2]string{ // on Unix and on Windows
		"file:///home/me/a%20b":      {"/home/me/a b", ""},
		"file://localhost/home/me/":  {"/home/me", ""},
		"FILE:///home/me/%C3%A4":     {"/home/me/ä", ""},
		"file:///c%3A/Users/me":      {"/c:/Users/me", "c:/Users/me"},
		"file:///C:/Users/me/a%20b/": {"/C:/Users/me/a b", "C:/Users/me/a b"},
		"file://server/share":        {"", ""},
		"https://example.com/x":      {"", ""},
		"file:relative":              {"", ""},
		"/home/me":                   {"", ""},
		"file:///a%00b":              {"", ""},
		"file:///%zz":                {"", ""},
	} {
		for i, system := range []string{"linux", "windows"} {
			got := filepath.ToSlash(pathOfURI(uri, system))
			expect(t, got == want[i], "%s on %s: %q", uri, system, got)
		}
	}
}

func TestKeptFiles(t *testing.T) {
	c := serveConfig(t, "--data-dir", t.TempDir())
	all := filepath.Join(c.DataDir, keptName)
	k, err := openKept(c, slog.New(slog.DiscardHandler))
	must(t, err)
	k.sweeping.work.Wait() // its own must not meet what follows
	live := k.dir
	put := func(age time.Duration, parts ...string) {
		path := filepath.Join(parts...)
		must(t, os.MkdirAll(filepath.Dir(path), 0o700))
		must(t, os.WriteFile(path, make([]byte, 1000), 0o600))
		run, _ := filepath.Rel(all, path)
		for filepath.Dir(run) != "." {
			run = filepath.Dir(run)
		}
		then := time.Now().Add(-age)
		must(t, os.Chtimes(filepath.Join(all, run), then, then))
	}
	put(time.Hour, live, "one", "figures", "a.png")
	put(time.Hour, all, "killed", lockName)
	put(time.Hour, all, "killed", "one", "code", "runfile.py")
	put(time.Hour, all, "killed", "two", "figures", "a.png")
	put(48*time.Hour, all, "long", "one", "figures", "a.png") // of one that was killed today
	put(48*time.Hour, all, "long", lockName)
	put(48*time.Hour, all, "old", "one", "figures", "a.png")
	put(20*time.Hour, all, "large", "one", "figures", "a.png")

	s := keptSweep{keep: 24 * time.Hour, size: 2500, log: slog.New(slog.DiscardHandler)}
	must(t, s.sweep(t.Context(), all))
	for path, there := range map[string]bool{
		filepath.Join(live, "one", "figures", "a.png"):          true,
		filepath.Join(all, "killed", "two", "figures", "a.png"): true,
		filepath.Join(all, "killed", "one"):                     false,
		filepath.Join(all, "killed", lockName):                  false,
		filepath.Join(all, "long", "one", "figures", "a.png"):   true,
		filepath.Join(all, "long", lockName):                    false,
		filepath.Join(all, "old"):                               false,
		filepath.Join(all, "large"):                             false,
	} {
		_, err := os.Lstat(path)
		expect(t, (err == nil) == there, "%s: %v", path, err)
	}
	// The next one takes it for what has ended now: it goes for its age in a day.
	must(t, s.sweep(t.Context(), all))
	info, err := os.Stat(filepath.Join(all, "long"))
	expect(t, err == nil && time.Since(info.ModTime()) <= time.Hour, "%v, %v", info, err)
	then := time.Now().Add(-25 * time.Hour)
	must(t, os.Chtimes(filepath.Join(all, "long"), then, then))
	must(t, s.sweep(t.Context(), all))
	_, err = os.Lstat(filepath.Join(all, "long"))
	expect(t, err != nil, "a run that was found dead a day ago stays")
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	err = s.sweep(ended, all)
	expect(t, err != nil, "it goes on when the server has ended")
	must(t, k.close())
	must(t, errOf(os.Lstat(filepath.Join(live, "one", "figures", "a.png"))))
}
