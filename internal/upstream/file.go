package upstream

import (
	"bytes"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/tailscale/hujson"

	"understudy/schemas"
)

// An entry is what the file says of one server.
type entry struct {
	name        string
	kind        string // stdio, http, sse; "" is to be found out by url
	command     string
	args        []string
	env         map[string]string
	cwd         string
	url         string
	headers     map[string]string
	disabled    bool
	allow, deny []string // names of tools
	description string
	// identity tells what is run or reached, before variables are expanded: a consent
	// holds for that only.
	identity string
	secrets  *secrets
}

// keys are those that an entry may have, with the clients' other names for them.
var keys = map[string]func(*reader, *entry, hujson.Value){
	"command":       func(r *reader, e *entry, v hujson.Value) { e.command = r.text("command", v) },
	"args":          func(r *reader, e *entry, v hujson.Value) { e.args = r.texts("args", v) },
	"env":           func(r *reader, e *entry, v hujson.Value) { e.env = r.mapping("env", v, e) },
	"cwd":           func(r *reader, e *entry, v hujson.Value) { e.cwd = r.text("cwd", v) },
	"url":           func(r *reader, e *entry, v hujson.Value) { e.url = r.text("url", v) },
	"serverUrl":     func(r *reader, e *entry, v hujson.Value) { e.url = r.text("serverUrl", v) },
	"httpUrl":       func(r *reader, e *entry, v hujson.Value) { e.url, e.kind = r.text("httpUrl", v), "http" },
	"headers":       func(r *reader, e *entry, v hujson.Value) { e.headers = r.mapping("headers", v, e) },
	"type":          func(r *reader, e *entry, v hujson.Value) { e.kind = r.transport("type", v) },
	"transport":     func(r *reader, e *entry, v hujson.Value) { e.kind = r.transport("transport", v) },
	"disabled":      func(r *reader, e *entry, v hujson.Value) { e.disabled = r.boolean("disabled", v) },
	"alwaysAllow":   func(r *reader, e *entry, v hujson.Value) { e.allow = append(e.allow, r.texts("alwaysAllow", v)...) },
	"autoApprove":   func(r *reader, e *entry, v hujson.Value) { e.allow = append(e.allow, r.texts("autoApprove", v)...) },
	"allow":         func(r *reader, e *entry, v hujson.Value) { e.allow = append(e.allow, r.texts("allow", v)...) },
	"disabledTools": func(r *reader, e *entry, v hujson.Value) { e.deny = r.texts("disabledTools", v) },
	"description":   func(r *reader, e *entry, v hujson.Value) { e.description = r.text("description", v) },
}

// fileLimit is how long the file may be.
const fileLimit = 4 << 20

// A reader reads the file and collects its faults.
type reader struct {
	path   string
	data   []byte
	log    *slog.Logger
	faults []error
	server string // the one that is read
	raw    bool   // leaves variables as they are: the server is disabled
	used   *secrets
}

// readFile returns the servers of a file, in its order.
func readFile(path string, log *slog.Logger) ([]entry, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("reading the servers of --mcp: %w", err)
	}
	r := &reader{path: path, data: data, log: log}
	if len(data) > fileLimit {
		return nil, fmt.Errorf("%s: is longer than 4 MiB; give --mcp a file with mcpServers", path)
	}
	document, err := hujson.Parse(data)
	if err != nil {
		return nil, r.syntax(err)
	}
	entries := r.entries(document)
	const shown = 10
	if len(r.faults) > shown {
		r.faults = append(r.faults[:shown], fmt.Errorf("%s: and %d more faults", path, len(r.faults)-shown))
	}
	return entries, errors.Join(r.faults...)
}

var position = regexp.MustCompile(`^(?:hujson: )?line (\d+), column \d+: `)

// syntax says a parser's error with the line in front, as all others are said.
func (r *reader) syntax(err error) error {
	text := err.Error()
	line := "1"
	if found := position.FindStringSubmatch(text); found != nil {
		line, text = found[1], text[len(found[0]):]
	}
	return fmt.Errorf("%s:%s: is not JSON: %s; mend it there", r.path, line, text)
}

func (r *reader) entries(document hujson.Value) []entry {
	root, ok := document.Value.(*hujson.Object)
	if !ok {
		r.fault(document, "", "must be an object with mcpServers")
		return nil
	}
	for i := range root.Members {
		member := root.Members[i]
		if key := literal(member.Name); key != "mcpServers" && key != "servers" {
			continue
		}
		servers, ok := member.Value.Value.(*hujson.Object)
		if !ok {
			r.fault(member.Value, "", "mcpServers must be an object of servers by name")
			return nil
		}
		return r.servers(servers)
	}
	r.fault(document, "", `has no "mcpServers"; put the servers under that key, as MCP clients have them`)
	return nil
}

func (r *reader) servers(object *hujson.Object) []entry {
	var entries []entry
	var names []string
	for _, member := range object.Members {
		r.server = literal(member.Name)
		body, ok := member.Value.Value.(*hujson.Object)
		switch {
		case !ok:
			r.fault(member.Value, "", "must be an object with command or url")
		case strings.TrimSpace(r.server) == "" || len(r.server) > 100 || visible(r.server) != r.server:
			r.fault(member.Value, "", "a server's name must be 1 to 100 printable characters; rename it")
		case slices.Contains(names, r.server):
			r.fault(member.Name, "", "is there twice; rename or remove one")
		default:
			entries = append(entries, r.entry(body, member.Value))
		}
		names = append(names, r.server)
	}
	return entries
}

// entry reads one server's object.
func (r *reader) entry(object *hujson.Object, whole hujson.Value) entry {
	e := entry{name: r.server, secrets: &secrets{}}
	r.used, r.raw = e.secrets, false
	for _, member := range object.Members {
		if value, ok := member.Value.Value.(hujson.Literal); literal(member.Name) == "disabled" && ok {
			r.raw = value.Kind() == 't'
		}
	}
	var identity strings.Builder
	for _, member := range object.Members {
		key := literal(member.Name)
		if slices.Contains([]string{"command", "args", "url", "serverUrl", "httpUrl"}, key) {
			minimal := member.Value.Clone()
			minimal.Minimize()
			fmt.Fprintf(&identity, "%s=%s\n", key, strings.TrimSpace(minimal.String()))
		}
		if read, known := keys[key]; known {
			read(r, &e, member.Value)
			continue
		}
		advice := ""
		if near, ok := schemas.Nearest(key, sortedKeys(keys)); ok {
			advice = fmt.Sprintf("did you mean %q?", near)
		}
		r.log.Warn("a key of the file of --mcp is not known and has no effect",
			"file", fmt.Sprintf("%s:%d", r.path, r.line(member.Name)), "server", e.name, "key", clip(key, 100), "advice", advice)
	}
	e.identity = identity.String()
	if !e.disabled {
		r.checkTransport(&e, whole)
	}
	return e
}

func (r *reader) checkTransport(e *entry, whole hujson.Value) {
	if e.kind == "" && e.command != "" {
		e.kind = "stdio"
	}
	switch {
	case e.command == "" && e.url == "":
		r.fault(whole, "", "has neither command nor url; add one")
	case e.command != "" && e.url != "":
		r.fault(whole, "", "has both command and url; remove one")
	case e.kind == "stdio" && e.command == "":
		r.fault(whole, "command", "is missing, which a server of type stdio has")
	case e.kind != "stdio" && e.url == "":
		r.fault(whole, "url", "is missing, which a server of type %s has", e.kind)
	case e.url != "":
		if u, err := url.Parse(e.url); err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
			r.fault(whole, "url", "must be a URL with http or https")
		} else if u.User != nil || u.RawQuery != "" {
			password, _ := u.User.Password()
			e.secrets.add(password)
			for _, values := range u.Query() {
				e.secrets.add(values...)
			}
		}
	case e.cwd != "" && !filepath.IsAbs(e.cwd):
		e.cwd = filepath.Join(filepath.Dir(r.path), e.cwd)
	}
}

func (r *reader) line(at hujson.Value) int {
	return 1 + bytes.Count(r.data[:min(at.StartOffset, len(r.data))], []byte("\n"))
}

func (r *reader) fault(at hujson.Value, key, format string, args ...any) {
	where := fmt.Sprintf("%s:%d: ", r.path, r.line(at))
	if r.server != "" {
		where += "server " + clip(r.server, 100) + ": "
	}
	if key != "" {
		where += key + ": "
	}
	r.faults = append(r.faults, errors.New(where+fmt.Sprintf(format, args...)))
}

// text returns a text with its variables expanded; numbers and booleans are texts too.
func (r *reader) text(key string, v hujson.Value) string {
	value, ok := v.Value.(hujson.Literal)
	if !ok || value.Kind() == 'n' {
		r.fault(v, key, "must be a text")
		return ""
	}
	text := string(value)
	if value.Kind() == '"' {
		text = value.String()
	}
	if r.raw {
		return text
	}
	return r.expand(key, v, text)
}

func (r *reader) boolean(key string, v hujson.Value) bool {
	value, ok := v.Value.(hujson.Literal)
	if !ok || value.Kind() != 't' && value.Kind() != 'f' {
		r.fault(v, key, "must be true or false")
		return false
	}
	return value.Kind() == 't'
}

func (r *reader) texts(key string, v hujson.Value) []string {
	array, ok := v.Value.(*hujson.Array)
	if !ok {
		r.fault(v, key, "must be an array of texts")
		return nil
	}
	texts := []string{}
	for i, element := range array.Elements {
		texts = append(texts, r.text(fmt.Sprintf("%s[%d]", key, i), element))
	}
	return texts
}

// plainHeader are headers whose values are words that answers are full of.
var plainHeader = regexp.MustCompile(`(?i)^(accept.*|content-.*|user-agent)$`)

// mapping reads env or headers, whose values are secrets.
func (r *reader) mapping(key string, v hujson.Value, e *entry) map[string]string {
	object, ok := v.Value.(*hujson.Object)
	if !ok {
		r.fault(v, key, "must be an object of texts")
		return nil
	}
	values := map[string]string{}
	for _, member := range object.Members {
		name := literal(member.Name)
		value := r.text(key+"."+clip(name, 100), member.Value)
		if name == "" || strings.ContainsAny(name, "=\x00\r\n") || strings.ContainsAny(value, "\x00") {
			r.fault(member.Name, key, "has a name or value that can't be passed on; mend it")
			continue
		}
		values[name] = value
		e.secrets.add(value)
		if key == "headers" && !plainHeader.MatchString(name) || namesSecret(name) {
			e.secrets.addDeep(value)
		}
	}
	return values
}

func (r *reader) transport(key string, v hujson.Value) string {
	switch kind := strings.ToLower(r.text(key, v)); kind {
	case "stdio", "sse":
		return kind
	case "http", "streamable-http", "streamablehttp", "streamable_http":
		return "http"
	default:
		r.fault(v, key, "must be stdio, http, streamable-http or sse")
		return ""
	}
}

// variable is ${NAME}, ${NAME:-default} or ${env:NAME}, or another client's own.
var (
	variable     = regexp.MustCompile(`\$\{([^{}]*)\}`)
	variableName = regexp.MustCompile(`^(?:env:)?([A-Za-z_][A-Za-z0-9_]*)(?::-(.*))?$`)
)

// expand puts in the variables of our environment.
func (r *reader) expand(key string, at hujson.Value, text string) string {
	return variable.ReplaceAllStringFunc(text, func(written string) string {
		found := variableName.FindStringSubmatch(written[2 : len(written)-1])
		if found == nil {
			r.fault(at, key, "%s is not known here; write ${NAME}, ${NAME:-default} or ${env:NAME}", clip(written, 60))
			return ""
		}
		value, set := os.LookupEnv(found[1])
		if !set || value == "" && strings.Contains(written, ":-") {
			if !strings.Contains(written, ":-") {
				r.fault(at, key, "the variable %s is not set; set it, or write ${%s:-default}", found[1], found[1])
			}
			return found[2]
		}
		r.used.add(value)
		if namesSecret(found[1]) {
			r.used.addDeep(value)
		}
		return value
	})
}

func literal(v hujson.Value) string {
	text, _ := v.Value.(hujson.Literal)
	return text.String()
}
