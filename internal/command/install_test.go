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
	for _, name := range []string{"XDG_CONFIG_HOME", "APPDATA", "CLAUDE_CONFIG_DIR", "CODEX_HOME", "GEMINI_CLI_HOME", "GOOSE_PATH_ROOT"} {
		t.Setenv(name, "")
	}
	t.Chdir(home)
	return home
}

// install runs the command line and returns what was printed.
func install(t *testing.T, args ...string) (out, notes string, err error) {
	t.Helper()
	c, err := config.Parse(config.Source{Args: append([]string{"install"}, args...)})
	must(t, err)
	var o, n bytes.Buffer
	err = Install(c, &o, &n)
	return o.String(), n.String(), err
}

func TestInstallForEveryClient(t *testing.T) {
	home := atHome(t)
	for name, client := range clientconfig.Clients {
		t.Run(name, func(t *testing.T) {
			out, notes, err := install(t, "--client", name, "--command", "/opt/understudy")
			must(t, err)
			path, err := client.Path(clientconfig.User)
			if err != nil || !strings.HasPrefix(path, home) {
				t.Fatalf("path %q, %v", path, err)
			}
			text, err := os.ReadFile(path)
			if !client.Edits() {
				expect(t, err != nil && strings.Contains(out, "/opt/understudy") && strings.Contains(notes, "run this"), "wrote %q, printed %q, said %q", text, out, notes)
				return
			}
			expect(t, err == nil && strings.Contains(string(text), "/opt/understudy"), "%s holds %q, %v", path, text, err)
			expect(t, strings.Contains(notes, path) && strings.Contains(notes, "Restart "+client.Title), "said %q", notes)
			_, notes, err = install(t, "--client", name, "--command", "/opt/understudy")
			expect(t, err == nil && strings.Contains(notes, "already"), "the second time: %q, %v", notes, err)
		})
	}
}

func TestInstallSaysWhereTheBackupIs(t *testing.T) {
	home := atHome(t)
	path := filepath.Join(home, ".cursor", "mcp.json")
	must(t, errors.Join(os.Mkdir(filepath.Dir(path), 0o700), os.WriteFile(path, []byte(`{"other": 7}`), 0o600)))
	_, notes, err := install(t, "--client", "cursor", "--command", "/opt/understudy")
	must(t, err)
	backups, err := filepath.Glob(path + ".bak-*")
	expect(t, err == nil && len(backups) == 1 && strings.Contains(notes, backups[0]), "backups %v, %v; said %q", backups, err, notes)
}

func TestPrintChangesNothing(t *testing.T) {
	home := atHome(t)
	out, notes, err := install(t, "--client", "codex", "--command", "understudy", "--print", "--", "--wait", "30")
	must(t, err)
	want := "[mcp_servers.understudy]\ncommand = \"understudy\"\nargs = [\"--wait\",\"30\"]\n"
	expect(t, out == want && strings.Contains(notes, "config.toml"), "printed %q and said %q", out, notes)
	entries, err := os.ReadDir(home)
	expect(t, err == nil && len(entries) == 0, "home holds %v, %v", entries, err)
}

func TestInstallRefuses(t *testing.T) {
	atHome(t)
	for name, args := range map[string][]string{
		"--scope": {"--client", "claude-desktop", "--scope", "project"},
		"--name":  {"--client", "cursor", "--name", "two words"},
	} {
		_, _, err := install(t, append(args, "--command", "x")...)
		var usage *config.UsageError
		expect(t, errors.As(err, &usage) && strings.Contains(err.Error(), name), "%v gives %v", args, err)
	}
}

// The command must be found by programs without the shell's PATH, and by
// colleagues whose program is elsewhere.
func TestCommandOfThisProgram(t *testing.T) {
	self, err := os.Executable()
	must(t, err)
	bin := t.TempDir()
	if err := os.Symlink(self, filepath.Join(bin, filepath.Base(self))); err != nil {
		t.Skipf("no symbolic links here: %v", err)
	}
	// "go test" builds below go-build too, but not as "go run" does.
	command, err := ownCommand("", clientconfig.User)
	expect(t, err == nil && command == self, "not on PATH: %q, %v; want %s", command, err, self)
	t.Setenv("PATH", bin)
	command, err = ownCommand("", clientconfig.User)
	expect(t, err == nil && command == filepath.Join(bin, filepath.Base(self)), "on PATH, for the user: %q, %v", command, err)
	command, err = ownCommand("", clientconfig.Project)
	expect(t, err == nil && command == strings.TrimSuffix(filepath.Base(self), ".exe"), "on PATH, for a project: %q, %v", command, err)
	expect(t, isTemporary("/cache/go-build123/b001/exe/understudy") && !isTemporary("/usr/bin/understudy"), "programs of go run are not told from others")
}

func TestInstallShared(t *testing.T) {
	atHome(t)
	for _, args := range [][]string{{"--", "--wait", "4s"}, {"--", "serve", "--wait", "4s"}} {
		out, _, err := install(t, append([]string{"--client", "cursor", "--command", "/opt/understudy", "--shared", "--print"}, args...)...)
		flat := strings.Join(strings.Fields(out), " ")
		expect(t, err == nil && (strings.Contains(flat, `"args": [ "connect", "--wait", "4s" ]`) || strings.Contains(flat, `"args": ["connect", "--wait", "4s"]`)),
			"%v: %s", err, out)
	}
}
