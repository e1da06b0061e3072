package command

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"understudy/internal/clientconfig"
	"understudy/internal/config"
)

// atHome gives the test a home and a current directory of its own.
func atHome(t *testing.T) string {
	t.Helper()
	home := t.TempDir()
	for _, name := range []string{"HOME", "USERPROFILE"} {
		t.Setenv(name, home)
	}
	for _, name := range []string{"XDG_CONFIG_HOME", "APPDATA", "CLAUDE_CONFIG_DIR", "CODEX_HOME"} {
		t.Setenv(name, "")
	}
	t.Chdir(home)
	return home
}

// install runs the command line and returns what was printed.
func install(t *testing.T, args ...string) (out, notes string, err error) {
	t.Helper()
	c, err := config.Parse(config.Source{Args: append([]string{"install"}, args...)})
	if err != nil {
		t.Fatal(err)
	}
	var o, n bytes.Buffer
	err = Install(c, &o, &n)
	return o.String(), n.String(), err
}

func TestInstallForEveryClient(t *testing.T) {
	home := atHome(t)
	for name, client := range clientconfig.Clients {
		t.Run(name, func(t *testing.T) {
			out, notes, err := install(t, "--client", name, "--command", "/opt/understudy")
			if err != nil {
				t.Fatal(err)
			}
			path, err := client.Path(clientconfig.User)
			if err != nil || !strings.HasPrefix(path, home) {
				t.Fatalf("path %q, %v", path, err)
			}
			text, err := os.ReadFile(path)
			if !client.Edits() {
				if err == nil || !strings.Contains(out, "/opt/understudy") || !strings.Contains(notes, "run this") {
					t.Errorf("wrote %q, printed %q, said %q", text, out, notes)
				}
				return
			}
			if err != nil || !strings.Contains(string(text), "/opt/understudy") {
				t.Errorf("%s holds %q, %v", path, text, err)
			}
			if !strings.Contains(notes, path) || !strings.Contains(notes, "Restart "+client.Title) {
				t.Errorf("said %q", notes)
			}
			_, notes, err = install(t, "--client", name, "--command", "/opt/understudy")
			if err != nil || !strings.Contains(notes, "already") {
				t.Errorf("the second time: %q, %v", notes, err)
			}
		})
	}
}

func TestInstallSaysWhereTheBackupIs(t *testing.T) {
	home := atHome(t)
	path := filepath.Join(home, ".cursor", "mcp.json")
	if err := errors.Join(os.Mkdir(filepath.Dir(path), 0o700), os.WriteFile(path, []byte(`{"other": 7}`), 0o600)); err != nil {
		t.Fatal(err)
	}
	_, notes, err := install(t, "--client", "cursor", "--command", "/opt/understudy")
	if err != nil {
		t.Fatal(err)
	}
	backups, err := filepath.Glob(path + ".bak-*")
	if err != nil || len(backups) != 1 || !strings.Contains(notes, backups[0]) {
		t.Errorf("backups %v, %v; said %q", backups, err, notes)
	}
}

func TestPrintChangesNothing(t *testing.T) {
	home := atHome(t)
	out, notes, err := install(t, "--client", "codex", "--command", "understudy", "--print", "--", "--wait", "30")
	if err != nil {
		t.Fatal(err)
	}
	want := "[mcp_servers.understudy]\ncommand = \"understudy\"\nargs = [\"--wait\",\"30\"]\n"
	if out != want || !strings.Contains(notes, "config.toml") {
		t.Errorf("printed %q and said %q", out, notes)
	}
	if entries, err := os.ReadDir(home); err != nil || len(entries) != 0 {
		t.Errorf("home holds %v, %v", entries, err)
	}
}

func TestInstallRefuses(t *testing.T) {
	atHome(t)
	for name, args := range map[string][]string{
		"--scope": {"--client", "claude-desktop", "--scope", "project"},
		"--name":  {"--client", "cursor", "--name", "two words"},
	} {
		_, _, err := install(t, append(args, "--command", "x")...)
		var usage *config.UsageError
		if !errors.As(err, &usage) || !strings.Contains(err.Error(), name) {
			t.Errorf("%v gives %v", args, err)
		}
	}
}

// The command must be found by programs without the shell's PATH, and by
// colleagues whose program is elsewhere.
func TestCommandOfThisProgram(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	bin := t.TempDir()
	if err := os.Symlink(self, filepath.Join(bin, filepath.Base(self))); err != nil {
		t.Skipf("no symbolic links here: %v", err)
	}
	// "go test" builds below go-build too, but not as "go run" does.
	if command, err := ownCommand("", clientconfig.User); err != nil || command != self {
		t.Errorf("not on PATH: %q, %v; want %s", command, err, self)
	}
	t.Setenv("PATH", bin)
	if command, err := ownCommand("", clientconfig.User); err != nil || command != filepath.Join(bin, filepath.Base(self)) {
		t.Errorf("on PATH, for the user: %q, %v", command, err)
	}
	if command, err := ownCommand("", clientconfig.Project); err != nil || command != strings.TrimSuffix(filepath.Base(self), ".exe") {
		t.Errorf("on PATH, for a project: %q, %v", command, err)
	}
	if !isTemporary("/cache/go-build123/b001/exe/understudy") || isTemporary("/usr/bin/understudy") {
		t.Error("programs of go run are not told from others")
	}
}

func TestInstallShared(t *testing.T) {
	atHome(t)
	for _, args := range [][]string{{"--", "--wait", "4s"}, {"--", "serve", "--wait", "4s"}} {
		out, _, err := install(t, append([]string{"--client", "cursor", "--command", "/opt/understudy", "--shared", "--print"}, args...)...)
		if flat := strings.Join(strings.Fields(out), " "); err != nil || !strings.Contains(flat, `"args": [ "connect", "--wait", "4s" ]`) && !strings.Contains(flat, `"args": ["connect", "--wait", "4s"]`) {
			t.Errorf("%v: %s", err, out)
		}
	}
}
