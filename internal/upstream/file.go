package upstream

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"

	"github.com/agnivade/levenshtein"
	"github.com/tailscale/hujson"
)

// How a server is reached.
const (
	overStdio = "stdio"
	overHTTP  = "http"
	overSSE   = "sse"
)

// definition is what the file says of a server.
type definition struct {
	name      string
	purpose   string
	transport string
	command   string
	args      []string
	env       map[string]string
	dir       string
	url       string
	headers   map[string]string
	disabled  bool
	allow     []string // tools that may be called without asking
	deny      []string // tools that may not be called
}

// keys are those of a server, as the clients write them, with where each goes.
func (d *definition) keys() map[string]any {
	return map[string]any{
		"command": &d.command, "args": &d.args, "env": &d.env, "cwd": &d.dir,
		"url": &d.url, "serverUrl": &d.url, "httpUrl": &d.url, "headers": &d.headers,
		"type": &d.transport, "transport": &d.transport,
		"disabled": &d.disabled, "description": &d.purpose,
		"alwaysAllow": &d.allow, "autoApprove": &d.allow, "allow": &d.allow, "disabledTools": &d.deny,
	}
}

// mistake is an error at a place of the file.
type mistake struct {
	offset int
	err    error
}

func (m *mistake) Error() string { return m.err.Error() }

func mistakeAt(v hujson.Value, format string, args ...any) error {
	return &mistake{v.StartOffset, fmt.Errorf(format, args...)}
}

// read reads the file's servers, in its order. Notes are on keys that mean nothing here.
func read(path string, lookup func(string) (string, bool)) (all []definition, notes []string, err error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, nil, err
	}
	all, notes, err = parse(text, lookup)
	var at *mistake
	if errors.As(err, &at) {
		line := 1 + bytes.Count(text[:min(at.offset, len(text))], []byte("\n"))
		return nil, nil, fmt.Errorf("%s:%d: %w", path, line, at.err)
	}
	if err != nil { // hujson says the line itself
		err = fmt.Errorf("%s: %w", path, err)
	}
	return all, notes, err
}

func parse(text []byte, lookup func(string) (string, bool)) (all []definition, notes []string, err error) {
	root, err := hujson.Parse(text)
	if err != nil {
		return nil, nil, err
	}
	block, err := serversOf(root)
	if err != nil {
		return nil, nil, err
	}
	for _, m := range block.Members {
		name := nameOf(m)
		if slices.ContainsFunc(all, func(d definition) bool { return d.name == name }) {
			return nil, nil, mistakeAt(m.Name, "server %q is there twice; rename one", name)
		}
		d, more, err := parseServer(m, lookup)
		if err != nil {
			return nil, nil, err
		}
		all, notes = append(all, d), append(notes, more...)
	}
	return all, notes, nil
}

// serversOf finds the block: mcpServers, or servers as VS Code has it.
func serversOf(root hujson.Value) (*hujson.Object, error) {
	object, ok := root.Value.(*hujson.Object)
	if !ok {
		return nil, mistakeAt(root, `it must be an object with "mcpServers"`)
	}
	for _, m := range object.Members {
		if name := nameOf(m); name == "mcpServers" || name == "servers" {
			if block, ok := m.Value.Value.(*hujson.Object); ok {
				return block, nil
			}
			return nil, mistakeAt(m.Value, "%q must be an object: a name and a server in each member", name)
		}
	}
	return nil, mistakeAt(root, `it has no "mcpServers"; write {"mcpServers": {"NAME": {"command": …}}}`)
}

func nameOf(m hujson.ObjectMember) string {
	literal, _ := m.Name.Value.(hujson.Literal)
	return literal.String()
}

func parseServer(m hujson.ObjectMember, lookup func(string) (string, bool)) (d definition, notes []string, err error) {
	d.name = nameOf(m)
	object, ok := m.Value.Value.(*hujson.Object)
	if !ok || d.name == "" || len(d.name) > 100 {
		return d, nil, mistakeAt(m.Name, `server %q must have a name of at most 100 characters and be an object with "command" or "url"`, d.name)
	}
	known := d.keys()
	for _, each := range object.Members {
		key := nameOf(each)
		to, ok := known[key]
		if !ok {
			notes = append(notes, unknownKey(d.name, key, known))
			continue
		}
		value := each.Value.Clone()
		value.Standardize()
		if json.Unmarshal(value.Pack(), to) != nil {
			return d, nil, mistakeAt(each.Value, "%s of server %q must be %s", key, d.name, kindOf(to))
		}
		if err := d.expand(to, lookup); err != nil {
			return d, nil, mistakeAt(each.Value, "%s of server %q: %w", key, d.name, err)
		}
	}
	if err := d.settle(); err != nil {
		return d, nil, mistakeAt(m.Name, "server %q %w", d.name, err)
	}
	return d, notes, nil
}

func unknownKey(server, key string, known map[string]any) string {
	note := fmt.Sprintf("%s of server %q means nothing here", key, server)
	for word := range known {
		if levenshtein.ComputeDistance(strings.ToLower(key), strings.ToLower(word)) <= 2 {
			return note + "; did you mean " + word + "?"
		}
	}
	return note
}

func kindOf(to any) string {
	switch to.(type) {
	case *bool:
		return "true or false"
	case *[]string:
		return "a list of texts"
	case *map[string]string:
		return "an object of texts"
	}
	return "a text"
}

// variable is one of the environment in a text: ${NAME}, ${env:NAME}, ${NAME:-default}.
var variable = regexp.MustCompile(`\$\{(?:env:)?([A-Za-z_][A-Za-z0-9_]*)(?::-([^}]*))?\}`)

func (d *definition) expand(to any, lookup func(string) (string, bool)) error {
	var errs []error
	one := func(text string) string {
		return variable.ReplaceAllStringFunc(text, func(found string) string {
			parts := variable.FindStringSubmatch(found)
			if value, ok := lookup(parts[1]); ok {
				return value
			}
			if !strings.Contains(found, ":-") {
				errs = append(errs, fmt.Errorf("the environment variable %s is not set; set it for the server, or write ${%[1]s:-default}", parts[1]))
			}
			return parts[2]
		})
	}
	switch to := to.(type) {
	case *string:
		*to = one(*to)
	case *[]string:
		for i, text := range *to {
			(*to)[i] = one(text)
		}
	case *map[string]string:
		for name, text := range *to {
			(*to)[name] = one(text)
		}
	}
	return errors.Join(errs...)
}

// settle checks what belongs together and finds out how the server is reached.
func (d *definition) settle() error {
	switch strings.ToLower(strings.ReplaceAll(d.transport, "-", "")) {
	case "":
		d.transport = overHTTP
		if d.url == "" {
			d.transport = overStdio
		} else if strings.HasSuffix(strings.TrimRight(d.url, "/"), "/sse") {
			d.transport = overSSE
		}
	case "stdio":
		d.transport = overStdio
	case "http", "streamablehttp":
		d.transport = overHTTP
	case "sse":
		d.transport = overSSE
	default:
		return fmt.Errorf("has the transport %q; write stdio, http or sse", d.transport)
	}
	switch {
	case d.command != "" && d.url != "":
		return errors.New(`has both "command" and "url"; keep one`)
	case d.transport == overStdio && d.command == "":
		return errors.New(`has neither "command" nor "url"; write the command that starts it, or the address at which it is`)
	case d.transport != overStdio && !strings.HasPrefix(d.url, "http://") && !strings.HasPrefix(d.url, "https://"):
		return errors.New(`has no "url" that begins with http:// or https://`)
	}
	return nil
}

// keyNames are names of variables that hold keys. Others hold what answers are about, as
// directories.
var keyNames = regexp.MustCompile(`(?i)key|token|secret|passw|credential|auth|_pat$`)

// keysInAnswers are the secrets that an answer of the server's must not have, as it is in JSON.
func (d *definition) keysInAnswers() (all []string) {
	keep := func(value string) {
		text, _ := json.Marshal(value)
		if text := string(text[1 : len(text)-1]); len(text) >= 8 {
			all = append(all, text)
		}
	}
	for name, value := range d.env {
		if keyNames.MatchString(name) {
			keep(value)
		}
	}
	for _, value := range d.headers {
		keep(value)
		if _, token, ok := strings.Cut(value, " "); ok {
			keep(token)
		}
	}
	return all
}

// secrets are the values that must be told to nobody.
func (d *definition) secrets() (all []string) {
	for _, values := range []map[string]string{d.env, d.headers} {
		for _, value := range values {
			all = append(all, value)
			if _, token, ok := strings.Cut(value, " "); ok { // Bearer …
				all = append(all, token)
			}
		}
	}
	if _, query, ok := strings.Cut(d.url, "?"); ok {
		all = append(all, query)
	}
	return slices.DeleteFunc(all, func(s string) bool { return len(s) <= 5 })
}
