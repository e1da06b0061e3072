package upstream

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"

	"github.com/mark3labs/mcp-go/client"
	"github.com/mark3labs/mcp-go/mcp"
	"github.com/santhosh-tekuri/jsonschema/v6"
)

// The bounds of a server's list.
const (
	toolsLimit       = 2000
	listLimit        = 8 << 20   // bytes of definitions
	schemaLimit      = 512 << 10 // bytes of one schema
	schemaDepth      = 64
	pagesLimit       = toolsLimit
	descriptionLimit = 16 << 10
	toolNameLimit    = 200
)

// A tool is one of a server's, as it says.
type tool struct {
	name, function      string
	title, description  string
	input, output       json.RawMessage // output is nil where there is none
	readOnly            bool
	destructive         bool
	digest              string // of all that a user agrees to
	compile             sync.Once
	schema              *jsonschema.Schema // nil where input can't be checked
	properties          []string
	refusesOtherMembers bool
}

// A definition is what servers say of a tool.
type definition struct {
	Name         string          `json:"name"`
	Title        string          `json:"title"`
	Description  string          `json:"description"`
	InputSchema  json.RawMessage `json:"inputSchema"`
	OutputSchema json.RawMessage `json:"outputSchema"`
	Annotations  json.RawMessage `json:"annotations"`
}

// A listing is what has been read of a list.
type listing struct {
	tools   []*tool
	names   map[string]bool
	bytes   int
	leftOut []string // why tools are, the first few
	missing int
	more    bool // there were more than are taken
}

// list reads the tools of the server.
func (s *server) list(ctx context.Context, c *client.Client, has bool) error {
	got := &listing{names: map[string]bool{}}
	if has {
		limited, done := context.WithTimeout(ctx, startLimit)
		defer done()
		if err := got.read(limited, c); err != nil {
			if limited.Err() != nil && ctx.Err() == nil {
				return fmt.Errorf("it did not list its tools within %s", startLimit)
			}
			return err
		}
	}
	names := make([]string, 0, len(got.tools))
	for _, t := range got.tools {
		names = append(names, t.name)
	}
	functions := identifiers(names, "tool", packageNames)
	for _, t := range got.tools {
		t.function = functions[t.name]
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.tools, s.listed = got.tools, got.said()
	if s.listed != "" {
		s.log.Warn("tools of an MCP server are left out", "server", s.name, "which", s.secrets.mask(s.listed))
	}
	return nil
}

func (g *listing) read(ctx context.Context, c *client.Client) error {
	seen := map[mcp.Cursor]bool{}
	request := mcp.ListToolsRequest{}
	for range pagesLimit {
		var raw json.RawMessage
		_, err := c.ListToolsByPage(wantRaw(ctx, &raw), request)
		if raw == nil {
			return fmt.Errorf("its tools can't be listed: %w", cmp.Or(err, errors.New("there is no result")))
		}
		var page struct {
			Tools      []json.RawMessage `json:"tools"`
			NextCursor mcp.Cursor        `json:"nextCursor"`
		}
		if err := json.Unmarshal(raw, &page); err != nil {
			return errors.New("its list of tools is not in the form that the protocol has")
		}
		for _, one := range page.Tools {
			if g.more = len(g.tools) == toolsLimit || g.bytes > listLimit; g.more {
				return nil
			}
			g.add(one)
		}
		if page.NextCursor == "" {
			return nil
		}
		if seen[page.NextCursor] {
			break
		}
		seen[page.NextCursor] = true
		request.Params.Cursor = page.NextCursor
	}
	g.more = true
	return nil
}

// add takes a tool, or says why it can't be taken.
func (g *listing) add(raw json.RawMessage) {
	t, err := readTool(raw)
	if err == nil && g.names[t.name] {
		err = fmt.Errorf("%s: is there twice", visible(t.name))
	}
	if err != nil {
		const shown = 5
		if g.missing++; g.missing <= shown {
			g.leftOut = append(g.leftOut, clip(err.Error(), 200))
		}
		return
	}
	g.names[t.name] = true
	g.bytes += len(t.input) + len(t.output) + len(t.description) + len(t.name)
	g.tools = append(g.tools, t)
}

// said says what is left out; "" if nothing is.
func (g *listing) said() string {
	var parts []string
	if g.missing > 0 {
		parts = append(parts, fmt.Sprintf("%d tools are left out (%s)", g.missing, strings.Join(g.leftOut, "; ")))
	}
	if g.more {
		parts = append(parts, fmt.Sprintf("it has more tools than are taken; these are the first %d", len(g.tools)))
	}
	return strings.Join(parts, "; ")
}

func readTool(raw json.RawMessage) (*tool, error) {
	var d definition
	if err := json.Unmarshal(raw, &d); err != nil {
		return nil, errors.New("a tool is not in the form that the protocol has")
	}
	if d.Name == "" || len(d.Name) > toolNameLimit || visible(d.Name) != d.Name {
		return nil, fmt.Errorf("a tool has no proper name: %q", clip(d.Name, 60))
	}
	if isNull(d.InputSchema) {
		d.InputSchema = json.RawMessage(`{"type":"object"}`)
	}
	if err := checkSchema(d.InputSchema); err != nil {
		return nil, fmt.Errorf("%s: its input schema %w", d.Name, err)
	}
	if isNull(d.OutputSchema) || checkSchema(d.OutputSchema) != nil {
		d.OutputSchema = nil
	}
	var hints struct {
		Title       string
		ReadOnly    bool  `json:"readOnlyHint"`
		Destructive *bool `json:"destructiveHint"`
	}
	_ = json.Unmarshal(d.Annotations, &hints) // broken ones say nothing
	if d.Title == "" {
		d.Title = hints.Title
	}
	// The lengths are before the texts, so that no two definitions look alike.
	sum := sha256.New()
	for _, part := range []string{d.Name, d.Title, d.Description, string(d.InputSchema), string(d.OutputSchema), string(d.Annotations)} {
		_, _ = fmt.Fprintf(sum, "%d:%s", len(part), part)
	}
	return &tool{
		name: d.Name, title: clip(d.Title, 500), description: clip(d.Description, descriptionLimit),
		input: d.InputSchema, output: d.OutputSchema, readOnly: hints.ReadOnly,
		destructive: !hints.ReadOnly && (hints.Destructive == nil || *hints.Destructive),
		digest:      hex.EncodeToString(sum.Sum(nil)),
	}, nil
}

func isNull(raw json.RawMessage) bool { return len(raw) == 0 || string(raw) == "null" }

// checkSchema refuses what is no schema of an object, or one that readers would choke on.
func checkSchema(schema json.RawMessage) error {
	if len(schema) > schemaLimit {
		return errors.New("is longer than 512 KiB")
	}
	var top struct {
		Type any `json:"type"`
	}
	if schema[0] != '{' || json.Unmarshal(schema, &top) != nil || top.Type != nil && top.Type != "object" {
		return errors.New("describes no object")
	}
	depth := 0
	for tokens := json.NewDecoder(bytes.NewReader(schema)); ; {
		token, err := tokens.Token()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return errors.New("can't be read")
		}
		switch token {
		case json.Delim('{'), json.Delim('['):
			depth++
		case json.Delim('}'), json.Delim(']'):
			depth--
		}
		if depth > schemaDepth {
			return fmt.Errorf("is nested deeper than %d levels", schemaDepth)
		}
	}
}
