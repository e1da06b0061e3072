package config

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"

	"github.com/alecthomas/kong"
)

// decodeExistingPaths takes paths, and makes them absolute. A flag that is repeated adds
// to what was said before.
func decodeExistingPaths(ctx *kong.DecodeContext, target reflect.Value) error {
	paths, err := popTexts(ctx)
	if err != nil {
		return err
	}
	for _, path := range paths {
		if path == "" {
			return errors.New("it has an empty path; write one, or several separated by commas")
		}
		path = kong.ExpandPath(path)
		if _, err := os.Stat(path); err != nil {
			return fmt.Errorf("it must be a file or a directory that is there: %w", err)
		}
		target.Set(reflect.Append(target, reflect.ValueOf(path)))
	}
	return nil
}

// share is a path that sessions may reach.
type share struct {
	setting, path string
	writable      bool
}

// secret is a path of the server's own.
type secret struct {
	path, what string
	readable   bool // only writing it does harm
}

// CheckShares refuses paths that would give sessions what is the server's own: one
// of them could then read another's files, or change what the server does.
func (c *Config) CheckShares() error {
	if c.Serve.SandboxMode() == SandboxOff {
		return nil
	}
	var problems []error
	for _, share := range c.shares() {
		if what := c.ownIn(share.path, share.writable); what != "" {
			problems = append(problems, fmt.Errorf("%s is %s, which holds %s and would give it to the code in the sandbox; name a directory without it",
				share.setting, share.path, what))
		}
	}
	return errors.Join(problems...)
}

// OwnIn says in words what a directory holds that is the server's own and that no
// session may read, "" for nothing.
func (c *Config) OwnIn(directory string) string { return c.ownIn(directory, false) }

func (c *Config) ownIn(directory string, writable bool) string {
	for _, secret := range c.secrets() {
		if within(secret.path, directory) && (writable || !secret.readable) {
			return fmt.Sprintf("%s (%s)", secret.what, secret.path)
		}
	}
	return ""
}

func (c *Config) shares() []share {
	var list []share
	for _, path := range c.Serve.Read {
		list = append(list, share{"read", path, false})
	}
	for _, path := range c.Serve.Write {
		list = append(list, share{"write", path, true})
	}
	if c.Serve.DataMode == DataLink { // copies are in the workspace
		for _, path := range c.Serve.Data {
			list = append(list, share{"data", path, false})
		}
	}
	if c.Serve.Workdir != "" {
		list = append(list, share{"workdir", c.Serve.Workdir, true})
	}
	if c.Serve.Workspace != "" {
		list = append(list, share{"workspace", c.Serve.Workspace, true})
	}
	return list
}

// Secrets are the paths of the server's own that no session may read.
func (c *Config) Secrets() (paths []string) {
	for _, secret := range c.secrets() {
		if !secret.readable {
			paths = append(paths, secret.path)
		}
	}
	return paths
}

func (c *Config) secrets() []secret {
	s := c.Serve
	list := []secret{{c.DataDir, "the data directory", false}, {c.JournalPath(), "the journal", false}}
	for _, one := range []secret{
		{s.AuthTokens, "the clients' tokens", false},
		{s.TLSKey, "the private key", false},
		{s.MCP.MCP, "the other servers with their keys", false},
		{s.TLSCert, "the certificate", true},
		{s.Plugins, "the plugins", true},
	} {
		if one.path != "" {
			list = append(list, one)
		}
	}
	for _, one := range s.Secrets() {
		if one.File != "" {
			list = append(list, secret{one.File, "the secret " + one.Name, false})
		}
	}
	if s.Policy != "" && s.Policy != PolicyDefaults {
		list = append(list, secret{s.Policy, "the rules for code", true})
	}
	return list
}

// SharesHome returns the setting and the path by which code in the sandbox reaches
// the home directory of the server's user, with its keys; "" if it does not.
func (c *Config) SharesHome() (setting, path string) {
	home, err := os.UserHomeDir()
	if err != nil || c.Serve.SandboxMode() == SandboxOff {
		return "", ""
	}
	for _, share := range c.shares() {
		if within(home, share.path) {
			return share.setting, share.path
		}
	}
	return "", ""
}

// within reports whether path is directory or below it, once links are followed.
func within(path, directory string) bool {
	relative, err := filepath.Rel(withoutLinks(directory), withoutLinks(path))
	return err == nil && relative != ".." && !strings.HasPrefix(relative, ".."+string(filepath.Separator))
}
