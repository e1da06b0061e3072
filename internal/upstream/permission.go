package upstream

import (
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
	"unicode"

	"github.com/google/renameio/v2"

	"understudy/sessions"
)

// The permissions of a tool.
const (
	allowed = "allowed"
	asks    = "asks"
	denied  = "denied"
)

// permission says whether code may call a tool: what only reads by its own word, and what
// the operator names, without asking.
func (s *server) permission(t Tool) string {
	switch {
	case slices.Contains(s.deny, t.Name):
		return denied
	case t.ReadOnly, slices.Contains(s.allow, t.Name), slices.ContainsFunc(s.allowed, func(pattern string) bool {
		return pattern == "*" || pattern == s.name+".*" || pattern == s.name+"."+t.Name || pattern == s.module+"."+t.Function
	}):
		return allowed
	}
	return asks
}

// Permit says whether the client's code may call a tool.
func (s *Servers) Permit(client sessions.Client, request sessions.ToolRequest) (*sessions.Consent, error) {
	to, t, err := s.tool(request)
	if err != nil {
		return nil, err
	}
	switch t.Permission {
	case allowed:
		return nil, nil
	case denied:
		return nil, refuse(sessions.RefusedDenied, "%s.%s may not be called: the server's operator has it among the disabledTools", to.name, t.Name)
	}
	consent := sessions.Consent{Key: to.name + "." + t.Name + "@" + t.digest, Text: consentText(to.name, t, request.Arguments)}
	if s.consents.has(client, consent.Key) {
		return nil, nil
	}
	return &consent, nil
}

// consentText says in plain words what is to be agreed to.
func consentText(server string, t *Tool, arguments json.RawMessage) string {
	text := fmt.Sprintf("The Python code wants to call %s of the MCP server %s, with %s", t.Name, server, clip(string(arguments), 1500))
	if t.Description != "" {
		text += fmt.Sprintf("\nThe server says of it: %q", clip(t.Description, 200))
	}
	return text
}

// clip shortens a stranger's text, and takes out what a terminal would act on.
func clip(text string, most int) string {
	text = strings.Map(func(r rune) rune {
		if unicode.IsControl(r) || unicode.Is(unicode.Cf, r) {
			return ' '
		}
		return r
	}, text)
	if runes := []rune(text); len(runes) > most {
		return string(runes[:most]) + "…"
	}
	return text
}

// digest tells a tool from what it is after a change.
func digest(parts ...any) string {
	text, _ := json.Marshal(parts) // texts, JSON and booleans
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:8])
}

// Allow keeps what the client's user has agreed to for always.
func (s *Servers) Allow(client sessions.Client, consent sessions.Consent) error {
	return s.consents.add(client, consent.Key)
}

// consents are what users have agreed to for always, in a file.
type consents struct {
	path string // "" keeps them in memory

	mu  sync.Mutex
	all map[sessions.Client][]string
}

func openConsents(dir string) (*consents, error) {
	c := &consents{all: map[sessions.Client][]string{}}
	if dir == "" {
		return c, nil
	}
	c.path = filepath.Join(dir, "tools.json")
	text, err := os.ReadFile(c.path)
	if errors.Is(err, fs.ErrNotExist) {
		return c, nil
	}
	if err == nil {
		err = json.Unmarshal(text, &c.all)
	}
	if err != nil {
		return nil, fmt.Errorf("what users have agreed to for always: %w; mend the file %s, or remove it and they are asked again", err, c.path)
	}
	return c, nil
}

func (c *consents) has(client sessions.Client, key string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Contains(c.all[client], key)
}

func (c *consents) add(client sessions.Client, key string) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if slices.Contains(c.all[client], key) {
		return nil
	}
	c.all[client] = append(c.all[client], key)
	if c.path == "" {
		return nil
	}
	text, err := json.MarshalIndent(c.all, "", "  ")
	if err == nil {
		err = os.MkdirAll(filepath.Dir(c.path), 0o700)
	}
	if err == nil {
		err = renameio.WriteFile(c.path, text, 0o600)
	}
	return err
}
