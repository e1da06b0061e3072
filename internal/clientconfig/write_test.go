package clientconfig

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/tools/txtar"
)

var ours = Server{Name: "understudy", Command: "/opt/understudy"}

// TestFiles goes through testdata/*.txtar: each archive's name begins with its
// client; "before" is the file, "after" what Install must make of it. An
// "args" file holds arguments, an "error" file what must be complained of.
func TestFiles(t *testing.T) {
	archives, err := filepath.Glob(filepath.Join("testdata", "*.txtar"))
	if err != nil || len(archives) == 0 {
		t.Fatalf("no archives: %v", err)
	}
	for _, path := range archives {
		t.Run(strings.TrimSuffix(filepath.Base(path), ".txtar"), func(t *testing.T) { testFile(t, path) })
	}
}

func testFile(t *testing.T, archive string) {
	parts := read1(t, archive)
	client := clientOf(t, archive)
	server := ours
	if args, ok := parts["args"]; ok {
		server.Args = strings.Fields(args)
	}
	path := filepath.Join(t.TempDir(), "deep", "file")
	if before, ok := parts["before"]; ok {
		write(t, path, before, 0o640)
	}
	change, err := client.Install(path, User, server)
	if want, ok := parts["error"]; ok {
		if err == nil || !strings.Contains(err.Error(), strings.TrimSpace(want)) {
			t.Errorf("error is %v, want %s", err, want)
		}
		checkUntouched(t, path, parts["before"])
		return
	}
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(parts["after"], content(t, path)); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	if change.Changed != (parts["before"] != parts["after"]) {
		t.Errorf("changed is %v", change.Changed)
	}
	again, err := client.Install(path, User, server)
	if err != nil || again.Changed || again.Backup != "" {
		t.Errorf("the second time gives %+v, %v", again, err)
	}
}

func read1(t *testing.T, path string) map[string]string {
	t.Helper()
	archive, err := txtar.ParseFile(path)
	if err != nil {
		t.Fatal(err)
	}
	parts := map[string]string{}
	for _, file := range archive.Files {
		parts[file.Name] = string(file.Data)
	}
	return parts
}

func clientOf(t *testing.T, path string) Client {
	t.Helper()
	for name, client := range Clients {
		if strings.HasPrefix(filepath.Base(path), name) {
			return client
		}
	}
	t.Fatalf("%s: its name begins with no client's", path)
	return Client{}
}

func write(t *testing.T, path, text string, mode os.FileMode) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), mode); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(path, mode); err != nil { // whatever the umask
		t.Fatal(err)
	}
}

func content(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// checkUntouched wants the file alone in its directory, as it was.
func checkUntouched(t *testing.T, path, before string) {
	t.Helper()
	if got := content(t, path); got != before {
		t.Errorf("the file became %q", got)
	}
	entries, err := os.ReadDir(filepath.Dir(path))
	if err != nil || len(entries) != 1 {
		t.Errorf("beside the file there is %v, %v", entries, err)
	}
}

const otherServer = "{\n\t\"mcpServers\": {\n\t\t\"other\": {\n\t\t\t\"command\": \"x\"\n\t\t}\n\t}\n}"

func TestBackupAndMode(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("Windows keeps no modes")
	}
	path := filepath.Join(t.TempDir(), "config.json")
	write(t, path, otherServer, 0o640)
	var backups []string
	for _, command := range []string{"/a", "/b", "/c"} { // within one second, so the names would clash
		change, err := Clients["cursor"].Install(path, User, Server{Name: "understudy", Command: command})
		if err != nil {
			t.Fatal(err)
		}
		backups = append(backups, change.Backup)
	}
	if got := content(t, backups[0]); got != otherServer {
		t.Errorf("the first backup holds %q", got)
	}
	if got := content(t, backups[2]); !strings.Contains(got, `"/b"`) {
		t.Errorf("the third backup holds %q", got)
	}
	for _, file := range append(backups, path) {
		if info, err := os.Stat(file); err != nil || info.Mode().Perm() != 0o640 {
			t.Errorf("%s: mode %v, %v", file, info.Mode(), err)
		}
	}
}

func TestNewFilesAreMade(t *testing.T) {
	for scope, mode := range map[Scope]os.FileMode{User: 0o600, Project: 0o644} {
		path := filepath.Join(t.TempDir(), "a", "b", "mcp.json")
		change, err := Clients["cursor"].Install(path, scope, ours)
		if err != nil || change.Backup != "" || !change.Changed {
			t.Fatalf("%+v, %v", change, err)
		}
		if info, err := os.Stat(path); err != nil || (runtime.GOOS != "windows" && info.Mode().Perm() != mode) {
			t.Errorf("%s: mode %v, %v", scope, info.Mode(), err)
		}
	}
}

func TestSymbolicLinksAreFollowed(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("making links needs a privilege on Windows")
	}
	root := t.TempDir()
	file := filepath.Join(root, "dotfiles", "mcp.json")
	link, dangling := filepath.Join(root, "link"), filepath.Join(root, "dangling")
	write(t, file, otherServer, 0o600)
	for name, to := range map[string]string{link: filepath.Join("dotfiles", "mcp.json"), dangling: "later.json"} {
		if err := os.Symlink(to, name); err != nil {
			t.Fatal(err)
		}
		if _, err := Clients["cursor"].Install(name, User, ours); err != nil {
			t.Fatal(err)
		}
		if info, err := os.Lstat(name); err != nil || info.Mode()&os.ModeSymlink == 0 {
			t.Errorf("%s is no link any more", name)
		}
	}
	for _, file := range []string{file, filepath.Join(root, "later.json")} {
		if got := content(t, file); !strings.Contains(got, "/opt/understudy") {
			t.Errorf("%s holds %q", file, got)
		}
	}
	loop := filepath.Join(root, "loop")
	if err := os.Symlink(loop, loop); err != nil {
		t.Fatal(err)
	}
	if _, err := Clients["cursor"].Install(loop, User, ours); err == nil {
		t.Error("a link to itself was followed")
	}
}

func TestOfWindowsEditors(t *testing.T) {
	for client, file := range map[string]struct{ before, begins string }{
		"claude-desktop": {otherServer, "{\r\n\t\"mcpServers\""},
		"goose":          {"GOOSE_MODE: auto\n", "GOOSE_MODE: auto\r\nextensions:\r\n"},
	} {
		path := filepath.Join(t.TempDir(), "file")
		write(t, path, "\ufeff"+strings.ReplaceAll(file.before, "\n", "\r\n"), 0o600)
		if _, err := Clients[client].Install(path, User, ours); err != nil {
			t.Fatal(err)
		}
		got := content(t, path)
		if !strings.HasPrefix(got, "\ufeff"+file.begins) || strings.Count(got, "\n") != strings.Count(got, "\r\n") {
			t.Errorf("%s: got %q", client, got)
		}
	}
}

func TestAWindowsPathIsEscaped(t *testing.T) {
	server := Server{Name: "understudy", Command: `C:\Program Files\it's & "more"\understudy.exe`}
	for name, client := range Clients {
		if !client.Edits() {
			continue
		}
		path := filepath.Join(t.TempDir(), "file")
		if _, err := client.Install(path, User, server); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if again, err := client.Install(path, User, server); err != nil || again.Changed {
			t.Errorf("%s: it reads back as another: %+v, %v\n%s", name, again, err, content(t, path))
		}
	}
}

// A client with a command of its own is told by it; what it can't tell is a snippet.
func TestCommandsAndSnippets(t *testing.T) {
	server := Server{Name: "py", Command: "/opt/it's", Args: []string{"--wait", "30"}}
	for _, test := range []struct {
		client        string
		scope         Scope
		line, snippet string
	}{
		{"claude-code", User, `claude mcp add --scope user py -- '/opt/it'\''s' --wait 30`, ""},
		{"claude-code", Project, "", `"type": "stdio"`},
		{"codex", User, `codex mcp add py -- '/opt/it'\''s' --wait 30`, ""},
		{"codex", Project, "", "[mcp_servers.py]\ncommand = \"/opt/it's\"\nargs = [\"--wait\",\"30\"]\n"},
		{"vscode", User, `code --add-mcp '{"name":"py","command":"/opt/it'\''s","args":["--wait","30"]}'`, ""},
		{"vscode", Project, "", "\n  \"servers\": {\n    \"py\": {\n      \"type\": \"stdio\""},
		{"cursor", User, "", `"args": ["--wait", "30"]`},
		{"goose", User, "", "    cmd: \"/opt/it's\"\n    args: [\"--wait\",\"30\"]\n"},
	} {
		client := Clients[test.client]
		if line := client.Command(test.scope, server); line != test.line {
			t.Errorf("%s, %s: the command is %s", test.client, test.scope, line)
		}
		snippet, err := client.Snippet(server)
		if err != nil || !strings.Contains(string(snippet), test.snippet) {
			t.Errorf("%s: the snippet is %s, %v", test.client, snippet, err)
		}
	}
}
