package upstream

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/mark3labs/mcp-go/mcp"

	"understudy/sessions"
)

// Bounds of an answer's binary parts.
const (
	mostParts  = 64
	mostBinary = 16 << 20 // bytes of all of them
)

// Answer answers a request of code.
func (s *Servers) Answer(ctx context.Context, request sessions.ToolRequest) (*sessions.ToolAnswer, error) {
	switch request.Op {
	case sessions.ToolCatalog:
		return body(map[string]any{"servers": s.States()})
	case sessions.ToolSearch:
		return s.search(request.Name)
	case sessions.ToolList:
		return s.list(ctx, request.Server)
	case sessions.ToolRead:
		return s.read(ctx, request)
	case sessions.ToolCall:
		return s.call(ctx, request)
	}
	return nil, refuse(sessions.RefusedInvalid, "there is no request %q", clip(string(request.Op), 50))
}

func body(value any, attachments ...[]byte) (*sessions.ToolAnswer, error) {
	text, err := json.Marshal(value)
	return &sessions.ToolAnswer{Body: text, Attachments: attachments}, err
}

// server returns the server of that name.
func (s *Servers) server(name string) (*server, error) {
	for _, one := range s.all {
		if one.name == name {
			return one, nil
		}
	}
	return nil, refuse(sessions.RefusedInvalid, "there is no MCP server %q; mcptools.servers() has them all", clip(name, 100))
}

// tool returns the tool that a request names.
func (s *Servers) tool(request sessions.ToolRequest) (*server, *Tool, error) {
	to, err := s.server(request.Server)
	if err != nil {
		return nil, nil, err
	}
	to.mu.Lock()
	defer to.mu.Unlock()
	for _, t := range to.tools {
		if t.Name == request.Name {
			return to, t, nil
		}
	}
	return nil, nil, refuse(sessions.RefusedInvalid, "the MCP server %s has no tool %q (any more); dir(mcptools.%s) has them all", to.name, clip(request.Name, 100), to.module)
}

func (s *Servers) search(words string) (*sessions.ToolAnswer, error) {
	var all []found
	var descriptions []string
	for _, one := range s.all {
		one.mu.Lock()
		for _, t := range one.tools {
			summary, _, _ := strings.Cut(strings.TrimSpace(t.Description), "\n")
			if summary == "" {
				summary = t.Title
			}
			all = append(all, found{Server: one.name, Module: one.module, Name: t.Name, Function: t.Function, Summary: clip(summary, 120)})
			descriptions = append(descriptions, t.Description)
		}
		one.mu.Unlock()
	}
	best, leftOut := search(all, descriptions, words)
	if best == nil {
		best = []found{}
	}
	return body(map[string]any{"tools": best, "left_out": leftOut})
}

func (s *Servers) list(ctx context.Context, name string) (*sessions.ToolAnswer, error) {
	one, err := s.server(name)
	if err != nil {
		return nil, err
	}
	if _, err := one.current(ctx); err != nil {
		return nil, one.unavailable(err)
	}
	state := one.State()
	one.mu.Lock()
	defer one.mu.Unlock()
	tools := one.tools
	if tools == nil {
		tools = []*Tool{}
	}
	return body(map[string]any{
		"server": one.name, "module": one.module, "purpose": state.Purpose, "instructions": one.advice, "tools": tools,
	})
}

func (s *server) unavailable(err error) error {
	return refuse(sessions.RefusedUnavailable, "the MCP server %s can't be reached: %s", s.name, s.mask.Replace(err.Error()))
}

func (s *Servers) read(ctx context.Context, request sessions.ToolRequest) (*sessions.ToolAnswer, error) {
	to, err := s.server(request.Server)
	if err != nil {
		return nil, err
	}
	return ask(ctx, to, func(ctx context.Context, c *connection) (*sessions.ToolAnswer, error) {
		r := mcp.ReadResourceRequest{}
		r.Params.URI = request.Name
		said, err := c.client.ReadResource(ctx, r)
		if err != nil {
			return nil, err
		}
		p := &parts{}
		all := make([]any, 0, len(said.Contents))
		for _, content := range said.Contents {
			one, err := p.resource(content)
			if err != nil {
				return nil, err
			}
			all = append(all, one)
		}
		return body(map[string]any{"contents": all}, p.attachments...)
	})
}

func (s *Servers) call(ctx context.Context, request sessions.ToolRequest) (*sessions.ToolAnswer, error) {
	to, t, err := s.tool(request)
	if err != nil {
		return nil, err
	}
	arguments, err := t.check(request.Arguments)
	if err != nil {
		return nil, err
	}
	end := func(error) {}
	if trace := to.options.Trace; trace != nil {
		ctx, end = trace(ctx, to.name, t.Name)
	}
	answer, err := ask(ctx, to, func(ctx context.Context, c *connection) (*sessions.ToolAnswer, error) {
		r := mcp.CallToolRequest{}
		r.Params.Name, r.Params.Arguments = t.Name, arguments
		said, err := c.client.CallTool(ctx, r)
		if err != nil {
			return nil, err
		}
		return render(said, t.OutputSchema)
	})
	end(err)
	return answer, err
}

// ask has a server asked, and returns when ctx ends even if the server does not read.
func ask(ctx context.Context, to *server, request func(context.Context, *connection) (*sessions.ToolAnswer, error)) (*sessions.ToolAnswer, error) {
	c, err := to.current(ctx)
	if err != nil {
		return nil, to.unavailable(err)
	}
	type result struct {
		answer *sessions.ToolAnswer
		err    error
	}
	done := make(chan result, 1)
	go func() {
		answer, err := request(ctx, c)
		done <- result{answer, err}
	}()
	select {
	case r := <-done:
		if r.err != nil {
			return nil, to.explain(ctx, c, r.err)
		}
		r.answer.Body = json.RawMessage(to.keys.Replace(string(r.answer.Body)))
		return r.answer, nil
	case <-ctx.Done():
		return nil, to.explain(ctx, c, ctx.Err())
	}
}

// explain says what an error means to the code.
func (s *server) explain(ctx context.Context, c *connection, err error) error {
	var refusal *sessions.ToolRefusal
	switch {
	case err == nil, errors.As(err, &refusal):
		return err
	case ctx.Err() != nil:
		return refuse(sessions.RefusedCancelled, "the call was cancelled, and the MCP server %s was told so; it may have done its work", s.name)
	case c.tooLarge.Load():
		return refuse(sessions.RefusedLimit, "the MCP server %s sent more than %d MB in one message; ask it for less", s.name, mostMessage>>20)
	case lostBy(err):
		c.fail(err)
		return refuse(sessions.RefusedUnavailable, "the MCP server %s was lost during the call, which it may have done or not: %s. It is started again by itself", s.name, s.mask.Replace(err.Error()))
	}
	return refuse(sessions.RefusedUnavailable, "the MCP server %s answered with an error: %s", s.name, clip(s.mask.Replace(err.Error()), 2000))
}

// render gives a result the form that code reads, in which the journal keeps it too; schema
// is of structured content, if the tool has one.
func render(r *mcp.CallToolResult, schema json.RawMessage) (*sessions.ToolAnswer, error) {
	structured := structuredOf(r, schema)
	p := &parts{}
	content := make([]any, 0, len(r.Content))
	for _, each := range r.Content {
		if _, isText := each.(mcp.TextContent); !isText && structured != nil && len(schema) > 0 {
			continue // the data is what was promised
		}
		one, err := p.part(each)
		if err != nil {
			return nil, err
		}
		content = append(content, one)
	}
	answer := map[string]any{"is_error": r.IsError, "content": content}
	if structured != nil {
		answer["structured"] = structured
	}
	return body(answer, p.attachments...)
}

// parts are those of one answer.
type parts struct {
	attachments [][]byte
	size        int
}

func (p *parts) part(content mcp.Content) (map[string]any, error) {
	switch c := content.(type) {
	case mcp.TextContent:
		return map[string]any{"type": "text", "text": c.Text}, nil
	case mcp.ImageContent:
		return p.binary("image", c.MIMEType, c.Data)
	case mcp.AudioContent:
		return p.binary("audio", c.MIMEType, c.Data)
	case mcp.ResourceLink:
		return map[string]any{"type": "resource_link", "uri": c.URI, "name": c.Name, "title": c.Title, "description": c.Description, "mime_type": c.MIMEType}, nil
	case mcp.EmbeddedResource:
		return p.resource(c.Resource)
	}
	return map[string]any{"type": "text", "text": fmt.Sprintf("[a part of type %T, which is not known here]", content)}, nil
}

func (p *parts) resource(content mcp.ResourceContents) (map[string]any, error) {
	switch c := content.(type) {
	case mcp.TextResourceContents:
		return map[string]any{"type": "resource", "uri": c.URI, "mime_type": c.MIMEType, "text": c.Text}, nil
	case mcp.BlobResourceContents:
		part, err := p.binary("resource", c.MIMEType, c.Blob)
		if err == nil {
			part["uri"] = c.URI
		}
		return part, err
	}
	return map[string]any{"type": "resource", "uri": "", "mime_type": "", "text": ""}, nil
}

func (p *parts) binary(kind, mimeType, data string) (map[string]any, error) {
	decoded, err := base64.StdEncoding.DecodeString(data)
	if err != nil {
		return nil, refuse(sessions.RefusedUnavailable, "the MCP server sent a broken %s: %s", kind, err)
	}
	if p.size += len(decoded); p.size > mostBinary || len(p.attachments) == mostParts {
		return nil, refuse(sessions.RefusedLimit, "the answer has more than %d MB, or %d parts, of images and other binary content; ask for less", mostBinary>>20, mostParts)
	}
	p.attachments = append(p.attachments, decoded)
	return map[string]any{"type": kind, "mime_type": mimeType, "attachment": len(p.attachments) - 1}, nil
}
