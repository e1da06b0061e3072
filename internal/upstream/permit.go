package upstream

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/google/renameio/v2/maybe"

	"understudy/schemas"
	"understudy/sessions"
)

// The permissions of tools.
const (
	allowed = "allowed"
	asks    = "asks"
	denied  = "denied"
)

// permission says who decides whether code may call a tool: the file and --mcp-allow, or
// what the server says of the tool, or a user.
func (s *Servers) permission(of *server, t *tool) string {
	switch {
	case slices.Contains(of.deny, t.name):
		return denied
	case t.readOnly, slices.Contains(of.allow, t.name), slices.Contains(of.allow, "*"):
		return allowed
	}
	for _, pattern := range s.options.Allow {
		if pattern == "*" || names(pattern, of.name, t) || names(pattern, of.module, t) {
			return allowed
		}
	}
	return asks
}

// names reports whether a pattern means a tool of the server of that name.
func names(pattern, server string, t *tool) bool {
	tool, ok := strings.CutPrefix(pattern, server+".")
	return ok && (tool == "*" || tool == t.name || tool == t.function)
}

// checkAllow refuses patterns that can never hold.
func (s *Servers) checkAllow() error {
	var faults []error
	for _, pattern := range s.options.Allow {
		named := pattern == "*" || slices.ContainsFunc(s.all, func(one *server) bool {
			return strings.HasPrefix(pattern, one.name+".") || strings.HasPrefix(pattern, one.module+".")
		})
		if named {
			continue
		}
		advice := "write server.tool, server.* or *"
		server, _, _ := strings.Cut(pattern, ".")
		if near, ok := schemas.Nearest(server, s.names()); ok {
			advice += fmt.Sprintf("; did you mean the server %q?", near)
		}
		faults = append(faults, fmt.Errorf("mcp-allow: %q names no tool of a server in the file; %s", pattern, advice))
	}
	return errors.Join(faults...)
}

// Permit says whether the client's code may call a tool. The tool is known once its server
// has been ready; for one that is starting it waits.
func (s *Servers) Permit(ctx context.Context, caller sessions.Client, request sessions.ToolRequest) (*sessions.Consent, error) {
	of, err := s.server(request.Server)
	if err != nil {
		return nil, err
	}
	t, err := of.tool(request.Name)
	if err != nil {
		if _, err := of.ready(ctx); err != nil {
			return nil, err
		}
		if t, err = of.tool(request.Name); err != nil {
			return nil, err
		}
	}
	switch s.permission(of, t) {
	case allowed:
		return nil, nil
	case denied:
		return nil, refuse(sessions.RefusedDenied, "%s.%s is among the disabledTools of the file of --mcp; only who runs this server can change that", of.name, t.name)
	}
	sum := sha256.Sum256([]byte(of.identity + t.digest))
	consent := sessions.Consent{Key: of.name + "." + t.name + "@" + hex.EncodeToString(sum[:16]), Text: describe(of, t, request.Arguments)}
	if s.consents.has(caller, consent.Key) {
		return nil, nil
	}
	return &consent, nil
}

// Allow keeps what the client's user has agreed to for always.
func (s *Servers) Allow(caller sessions.Client, consent sessions.Consent) error {
	return s.consents.add(caller, consent.Key)
}

const (
	shownArguments   = 1500
	shownDescription = 200
)

// describe says what would be done. Only the first sentence is ours: the rest is quoted.
func describe(of *server, t *tool, arguments json.RawMessage) string {
	if isNull(arguments) {
		arguments = json.RawMessage("{}")
	}
	text := fmt.Sprintf("The Python code wants to call %s of the MCP server %s, with %s", t.name, of.name,
		of.secrets.tell(string(arguments), shownArguments))
	if t.description != "" {
		text += fmt.Sprintf("\nThe server says of it: \"%s\"", clip(visible(strings.Join(strings.Fields(clip(t.description, 4*shownDescription)), " ")), shownDescription))
	}
	return text
}

// consents are what users have agreed to for always, by client and tool.
type consents struct {
	path string // "" keeps them in memory

	mu sync.Mutex
	by map[sessions.Client]map[string]string // the digest by server.tool
}

func openConsents(dir string) (*consents, error) {
	c := &consents{by: map[sessions.Client]map[string]string{}}
	if dir == "" {
		return c, nil
	}
	c.path = filepath.Join(dir, "tools.json")
	return c, c.read()
}

// read takes what the file has: another server on the same directory writes it too.
func (c *consents) read() error {
	data, err := os.ReadFile(c.path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	by := map[sessions.Client]map[string]string{}
	if err == nil {
		err = json.Unmarshal(data, &by)
	}
	if err != nil {
		return fmt.Errorf("reading what users have agreed to: %s: %w; mend or remove the file", c.path, err)
	}
	if by != nil {
		c.by = by
	}
	return nil
}

func splitKey(key string) (tool, digest string) {
	at := max(0, strings.LastIndexByte(key, '@'))
	return key[:at], key[at:]
}

func (c *consents) has(client sessions.Client, key string) bool {
	tool, digest := splitKey(key)
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.by[client][tool] == digest
}

func (c *consents) add(client sessions.Client, key string) error {
	tool, digest := splitKey(key)
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.path != "" {
		if err := c.read(); err != nil {
			return err
		}
	}
	if c.by[client] == nil {
		c.by[client] = map[string]string{}
	}
	c.by[client][tool] = digest
	if c.path == "" {
		return nil
	}
	data, err := json.MarshalIndent(c.by, "", "  ")
	if err == nil {
		err = os.MkdirAll(filepath.Dir(c.path), 0o700)
	}
	if err == nil {
		err = maybe.WriteFile(c.path, append(data, '\n'), 0o600)
	}
	if err != nil {
		return fmt.Errorf("keeping what the user has agreed to: %w", err)
	}
	return nil
}
