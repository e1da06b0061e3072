package upstream

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"strings"

	"github.com/mark3labs/mcp-go/client"
	"github.com/mark3labs/mcp-go/client/transport"
	"github.com/mark3labs/mcp-go/mcp"

	"understudy/sessions"
)

// The bounds of an answer.
const (
	answerLimit           = 32 << 20
	attachmentsLimit      = 64
	attachmentsBytesLimit = 16 << 20
	errorLimit            = 4000
)

// call calls a tool.
func (s *server) call(ctx context.Context, name string, arguments json.RawMessage) (*sessions.ToolAnswer, error) {
	if _, err := s.ready(ctx); err != nil {
		return nil, err
	}
	t, err := s.tool(name)
	if err != nil {
		return nil, err
	}
	if arguments, err = t.checkArguments(s.name, arguments); err != nil {
		return nil, err
	}
	request := mcp.CallToolRequest{}
	request.Params.Name, request.Params.Arguments = t.name, arguments
	end := func(error) {}
	if s.options.Trace != nil {
		ctx, end = s.options.Trace(ctx, s.name, t.name)
	}
	raw, err := s.ask(ctx, t.name, func(ctx context.Context, c *client.Client) error {
		_, err := c.CallTool(ctx, request)
		return err
	})
	end(err)
	if err != nil {
		return nil, err
	}
	return s.render(t, raw)
}

// read reads a resource.
func (s *server) read(ctx context.Context, uri string) (*sessions.ToolAnswer, error) {
	request := mcp.ReadResourceRequest{}
	request.Params.URI = uri
	raw, err := s.ask(ctx, clip(visible(uri), 200), func(ctx context.Context, c *client.Client) error {
		_, err := c.ReadResource(ctx, request)
		return err
	})
	if err != nil {
		return nil, err
	}
	var result struct {
		Contents []json.RawMessage `json:"contents"`
	}
	if err := json.Unmarshal(raw, &result); err != nil {
		return nil, refuse(sessions.RefusedUnavailable, "%s answered in a form that the protocol does not have", s.name)
	}
	a := answering{about: s.name}
	for _, content := range result.Contents {
		a.resource(content)
	}
	return a.answer(map[string]any{"contents": a.parts})
}

// ask sends a request and returns its result as the server wrote it. A server that
// has forgotten the session has not taken the request, so it is sent once more.
func (s *server) ask(ctx context.Context, about string, send func(context.Context, *client.Client) error) (json.RawMessage, error) {
	for again := true; ; again = false {
		c, err := s.ready(ctx)
		if err != nil {
			return nil, err
		}
		var raw json.RawMessage
		err = send(wantRaw(ctx, &raw), c)
		switch {
		case ctx.Err() != nil:
			return nil, cancelled()
		case again && errors.Is(err, transport.ErrSessionTerminated):
			continue
		case raw != nil:
			return s.secrets.maskAnswer(raw), nil
		case errors.Is(err, errTooLong):
			return nil, refuse(sessions.RefusedLimit, "%s.%s answered with more than 32 MiB; ask for less", s.name, about)
		case err == nil:
			err = errors.New("it gave no result")
		}
		return nil, s.refusal(about, err)
	}
}

// refusal says an error of a request: of the server's own, or of the way to it.
func (s *server) refusal(about string, err error) error {
	text := strings.TrimPrefix(s.secrets.tell(err.Error(), errorLimit), "transport error: ")
	var lost *transport.Error
	if !errors.As(err, &lost) {
		return refuse(sessions.RefusedInvalid, "%s.%s: the server refused: %s", s.name, about, text)
	}
	return refuse(sessions.RefusedUnavailable, "%s.%s: the server failed before it answered: %s; whether it has done anything is not known", s.name, about, text)
}

// A result is that of a tool, as servers write it.
type result struct {
	ResultType string            `json:"resultType"`
	Content    []json.RawMessage `json:"content"`
	Structured json.RawMessage   `json:"structuredContent"`
	IsError    bool              `json:"isError"`
}

// render makes an answer of the result of a tool.
func (s *server) render(t *tool, raw json.RawMessage) (*sessions.ToolAnswer, error) {
	var result result
	name := t.name
	if err := json.Unmarshal(raw, &result); err != nil {
		return nil, refuse(sessions.RefusedUnavailable, "%s.%s answered in a form that the protocol does not have", s.name, name)
	}
	if result.ResultType == string(mcp.ResultTypeInputRequired) {
		return nil, refuse(sessions.RefusedUnavailable, "%s.%s asks its client for more, which code can't give; call the tool where a user can answer", s.name, name)
	}
	a := answering{about: s.name + "." + name}
	for _, content := range result.Content {
		a.content(content)
	}
	body := map[string]any{"is_error": result.IsError, "content": a.parts}
	if structured := structuredOf(&result, t.output); structured != nil {
		body["structured"] = structured
	}
	return a.answer(body)
}

// An answering is an answer that is being made.
type answering struct {
	about       string
	parts       []map[string]any
	attachments [][]byte
	bytes       int // of attachments
	tooMuch     bool
}

// content adds a part of a tool's result.
func (a *answering) content(raw json.RawMessage) {
	var part struct {
		Type, Text, Data, MimeType, URI, Name, Title, Description string

		Resource json.RawMessage
	}
	if json.Unmarshal(raw, &part) != nil {
		a.text(string(raw))
		return
	}
	switch part.Type {
	case "text":
		a.text(part.Text)
	case "image", "audio":
		a.add(map[string]any{"type": part.Type, "mime_type": part.MimeType, "attachment": a.attach(part.Data)})
	case "resource_link":
		a.add(map[string]any{"type": part.Type, "uri": part.URI, "name": part.Name, "title": part.Title,
			"description": part.Description, "mime_type": part.MimeType})
	case "resource":
		a.resource(part.Resource)
	default: // of a protocol to come
		a.text(string(raw))
	}
}

func (a *answering) resource(raw json.RawMessage) {
	var r struct {
		URI      string  `json:"uri"`
		MimeType string  `json:"mimeType"`
		Text     *string `json:"text"`
		Blob     string  `json:"blob"`
	}
	if json.Unmarshal(raw, &r) != nil {
		a.text(string(raw))
		return
	}
	part := map[string]any{"type": "resource", "uri": r.URI, "mime_type": r.MimeType}
	if r.Text != nil {
		part["text"] = *r.Text
	} else {
		part["attachment"] = a.attach(r.Blob)
	}
	a.add(part)
}

func (a *answering) text(text string) { a.add(map[string]any{"type": "text", "text": text}) }

func (a *answering) add(part map[string]any) { a.parts = append(a.parts, part) }

// attach keeps bytes that came as base64, and returns their index.
func (a *answering) attach(encoded string) int {
	if len(a.attachments) == attachmentsLimit || a.bytes+base64.StdEncoding.DecodedLen(len(encoded)) > attachmentsBytesLimit+2 {
		a.tooMuch = true
		return 0
	}
	data, err := base64.StdEncoding.DecodeString(encoded)
	if err != nil {
		data, _ = base64.RawStdEncoding.DecodeString(strings.TrimRight(encoded, "=")) // what can be read of it
	}
	a.bytes += len(data)
	a.attachments = append(a.attachments, data)
	return len(a.attachments) - 1
}

func (a *answering) answer(body map[string]any) (*sessions.ToolAnswer, error) {
	if a.tooMuch {
		return nil, refuse(sessions.RefusedLimit, "%s answered with more than 16 MiB of images and other data, or more than 64 of them; ask for less", a.about)
	}
	for _, key := range []string{"content", "contents"} {
		if _, there := body[key]; there && a.parts == nil {
			body[key] = []any{}
		}
	}
	encoded, err := json.Marshal(body)
	if err != nil {
		return nil, err
	}
	if len(encoded)+a.bytes > answerLimit {
		return nil, refuse(sessions.RefusedLimit, "%s answered with more than 32 MiB; ask for less", a.about)
	}
	return &sessions.ToolAnswer{Body: encoded, Attachments: a.attachments}, nil
}
