package command

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"understudy/internal/app"
	"understudy/internal/clientconfig"
	"understudy/internal/config"
)

// serverName is what all clients take as a name. Cursor allows 60 characters
// for it together with a tool's name.
var serverName = regexp.MustCompile(`^[A-Za-z0-9_-]{1,40}$`)

// Install is the command install: it writes the server into a client's file, or prints
// the client's own command that adds it, or what is to be put into its file. out gets
// what is printed alone; what is said about it goes to notes.
func Install(c *config.Config, out, notes io.Writer) error {
	if !serverName.MatchString(c.Install.Name) {
		return &config.UsageError{Err: fmt.Errorf("--name %q: use up to 40 letters, digits, - and _", c.Install.Name)}
	}
	client := clientconfig.Clients[c.Install.Client]
	scope := clientconfig.Scope(c.Install.Scope)
	path, err := client.Path(scope)
	if err != nil {
		return &config.UsageError{Err: err}
	}
	command, err := ownCommand(c.Install.Command, scope)
	if err != nil {
		return err
	}
	args := c.Install.Args
	if c.Install.Shared {
		if len(args) > 0 && args[0] == "serve" { // connect starts it
			args = args[1:]
		}
		args = append([]string{"connect"}, args...)
	}
	server := clientconfig.Server{Name: c.Install.Name, Command: command, Args: args}
	if line := client.Command(scope, server); line != "" && !c.Install.Print {
		fmt.Fprintf(notes, "%s is told by its own command; run this, and restart it to have it take effect. If it has %q already, remove that first:\n", client.Title, server.Name)
		_, err := fmt.Fprintln(out, line)
		return err
	}
	if c.Install.Print || !client.Edits() {
		return printSnippet(client, path, server, out, notes)
	}
	change, err := client.Install(path, scope, server)
	if err != nil {
		return err
	}
	tellChange(client, change, server, notes)
	return nil
}

func printSnippet(client clientconfig.Client, path string, server clientconfig.Server, out, notes io.Writer) error {
	snippet, err := client.Snippet(server)
	if err != nil {
		return err
	}
	fmt.Fprintf(notes, "For %s, to be put into %s:\n", client.Title, path)
	_, err = out.Write(snippet)
	return err
}

func tellChange(client clientconfig.Client, change clientconfig.Change, server clientconfig.Server, notes io.Writer) {
	if !change.Changed {
		fmt.Fprintf(notes, "%s has %q already, in %s\n", client.Title, server.Name, change.Path)
		return
	}
	fmt.Fprintf(notes, "%s now has %q, in %s\n", client.Title, server.Name, change.Path)
	if change.Backup != "" {
		fmt.Fprintf(notes, "The file as it was: %s\n", change.Backup)
	}
	fmt.Fprintf(notes, "It runs: %s\nRestart %s to have it take effect\n",
		strings.Join(append([]string{server.Command}, server.Args...), " "), client.Title)
	if !slices.ContainsFunc(server.Args, func(arg string) bool { return strings.HasPrefix(arg, "--workdir") }) {
		fmt.Fprintf(notes, "Code works in the directory that %s starts it in, your project; where it starts it in none, in ~/%s (--workdir chooses another)\n",
			client.Title, app.HomeProjectName)
	}
}

// ownCommand is what the client is to run: this program. Desktop programs have
// not the shell's PATH, so its path is given, except in a project's file,
// which other people's machines share.
func ownCommand(asked string, scope clientconfig.Scope) (string, error) {
	if asked != "" {
		return asked, nil
	}
	self, err := os.Executable()
	if err != nil {
		return "", fmt.Errorf("finding the path of this program: %w; give it with --command", err)
	}
	if isTemporary(self) {
		return "", errors.New("this program was built by \"go run\" and will be gone; build it, or give --command")
	}
	name := strings.TrimSuffix(filepath.Base(self), ".exe")
	// The path on PATH outlives updates that the real one may not, as with
	// package managers' symbolic links.
	onPath, err := exec.LookPath(name)
	if err != nil || !app.SameFile(onPath, self) {
		return self, nil
	}
	if scope == clientconfig.Project {
		return name, nil
	}
	return filepath.Abs(onPath)
}

func isTemporary(path string) bool {
	return strings.Contains(filepath.ToSlash(path), "/go-build") && strings.Contains(filepath.ToSlash(path), "/exe/")
}
