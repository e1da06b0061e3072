package answer

import (
	"cmp"
	"context"
	"encoding/base64"
	"encoding/json"
	"log/slog"
	"sync"

	"github.com/mark3labs/mcp-go/mcp"

	"understudy/sessions"
)

// The values of Options.Figures.
const (
	FiguresContent = "content" // as image contents
	FiguresInline  = "inline"  // as image contents, and as data URIs in the record's base64_uri
	FiguresNone    = "none"    // as files only
)

// Options are the operator's choices about what answers hold. What is left zero takes the
// default that is named with it.
type Options struct {
	// TextBudget is how many characters of text an answer has. Zero, here and
	// in the next two, leaves it to the table of clients.
	TextBudget int
	// ImageMaxSide is the longest side of a picture in pixels.
	ImageMaxSide int
	// ImageBudget is how many bytes a whole answer has as it travels, text,
	// record and base64 of the pictures together.
	ImageBudget int
	// Figures is one of the constants Figures…; FiguresContent.
	Figures string
	// StructuredContent is one of the constants Structured…; StructuredAuto.
	StructuredContent string

	// What follows the tools fill in with what they know.

	// Client names the caller of a request.
	Client func(context.Context) sessions.Client
	// Trials says that programs read experiments, Search how those go on.
	Trials bool
	Search sessions.Search
	Logger *slog.Logger
}

// Renderer makes answers.
type Renderer struct {
	Options
	drawing sync.Mutex // one picture at a time is decoded: each takes about 30 MB
}

// New returns a Renderer.
func New(o Options) *Renderer {
	o.Figures = cmp.Or(o.Figures, FiguresContent)
	o.StructuredContent = cmp.Or(o.StructuredContent, StructuredAuto)
	return &Renderer{Options: o}
}

// Envelope is what a message needs, in bytes, beside the contents of its answer.
const Envelope = 1000

// Call is what an answer must know of its call.
type Call struct {
	Variable string // the result_var_name that was asked for, if known
	NewID    bool   // the interpreter was made for it, and its id is a key
	Named    bool   // it named its interpreter
	Again    bool   // the client's later calls find it without, unless each has a connection of its own
	Answers  bool   // it gave the code a line, and so knows how
	Code     string // what was run, if known
}

// Answer renders a result: one text, then the pictures, then the record for
// clients that read it. The whole stays within what the client takes.
func (b *Renderer) Answer(ctx context.Context, request mcp.CallToolRequest, result *sessions.Result, call Call) *mcp.CallToolResult {
	result = Located(advised(result, b.Search))
	answer := &mcp.CallToolResult{}
	f := b.Profile(ctx, request)
	left := f.Bytes - Envelope - linkFrame*(2+min(mostLinks, len(result.Figures)+len(result.Artifacts)))
	v := view{Result: readable(result), Call: call, budget: f.Text, cut: new([2]bool)}
	v.seen = v.printed()
	var record *sessions.Result
	var encoded json.RawMessage
	if f.Record {
		record, encoded = b.record(f, result, v.advice())
		left -= len(encoded)
	}

	v.fitBytes(left)
	shown := exhibits(result)
	if len(shown) > 0 {
		copies := 1 // of each picture in the answer
		switch {
		case b.Figures == FiguresNone:
			copies = 0
		case b.Figures == FiguresInline && record != nil:
			copies = 2
		}
		v.pictures = b.pictures(f.Side, shown, room(v, shown, left), copies)
		v.fitBytes(left) // it now says which are not shown
	}

	answer.Content = []mcp.Content{mcp.NewTextContent(v.text())}
	for i, p := range v.pictures {
		if p.data != nil {
			answer.Content = append(answer.Content, p.content(i, shown[i]))
		}
	}
	answer.Content = append(answer.Content, v.links(ctx)...)
	if record != nil && b.Figures == FiguresInline && len(shown) > 0 {
		record.Base64URI = dataURIs(v.pictures)
		if again, err := json.Marshal(record); err == nil {
			encoded = again
		}
	}
	if encoded != nil {
		answer.StructuredContent, answer.RawStructuredContent = encoded, encoded
	}
	return answer
}

// room is how many of the bytes that are left pictures may take beside the text.
func room(v view, shown []sessions.Figure, left int) int {
	lines := 0 // what is added to the text for a figure that is not shown, or smaller
	for _, figure := range shown {
		lines += 100 + len(figure.URI)
	}
	return left - Size(v.text()) - lines
}

// dataURIs are the pictures as base64_uri has them.
func dataURIs(pictures []picture) []string {
	var uris []string
	for _, p := range pictures {
		if p.data != nil {
			uris = append(uris, "data:"+p.mimeType+";base64,"+base64.StdEncoding.EncodeToString(p.data))
		}
	}
	return uris
}

// content is the i-th picture as a client gets it.
func (p picture) content(i int, figure sessions.Figure) mcp.ImageContent {
	image := mcp.NewImageContent(base64.StdEncoding.EncodeToString(p.data), p.mimeType)
	image.Annotations = &mcp.Annotations{Audience: []mcp.Role{mcp.RoleUser, mcp.RoleAssistant}}
	image.Meta = &mcp.Meta{AdditionalFields: map[string]any{"title": FigureTitle(i, figure)}}
	return image
}

// Refusal is an answer that is an error. What to do stands at the end of a
// message, so its middle is what a long one can do without.
func Refusal(code, message string) *mcp.CallToolResult {
	message = CutBytes(message, MostError, MostBytes)
	result := mcp.NewToolResultError(message)
	result.StructuredContent = map[string]any{"success": false, "code": code, "error": message}
	return result
}

// Reply is an answer of a text and a record for clients that read it; a record that is too
// large is left out.
func (b *Renderer) Reply(ctx context.Context, request mcp.CallToolRequest, text string, record map[string]any) *mcp.CallToolResult {
	f := b.Profile(ctx, request)
	result := mcp.NewToolResultText(CutBytes(text, f.Text, f.Bytes/2))
	if !f.Record {
		return result
	}
	record["success"] = true
	raw, err := json.Marshal(record)
	if err != nil {
		b.Logger.Error("record not encoded", "error", err)
	} else if len(raw) <= f.Bytes/2-Envelope {
		result.StructuredContent, result.RawStructuredContent = json.RawMessage(raw), raw
	}
	return result
}
