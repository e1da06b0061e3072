package tools

import (
	"context"
	"encoding/base64"

	"github.com/mark3labs/mcp-go/mcp"

	"understudy/sessions"
)

// envelope is what a message needs, in bytes, beside the contents of its answer.
const envelope = 1000

// answer renders a result: one text, then the pictures, then the record for
// clients that read it. The whole stays within what the client takes.
func (b *toolbox) answer(ctx context.Context, request mcp.CallToolRequest, result *sessions.Result, call asked) *mcp.CallToolResult {
	result = located(advised(result, b.Search))
	answer := &mcp.CallToolResult{}
	f := b.fit(ctx, request)
	var record *sessions.Result
	left := f.Bytes - envelope - linkFrame*(2+min(mostLinks, len(result.Figures)+len(result.Artifacts)))
	v := view{Result: readable(result), asked: call, budget: f.Text, cut: new([2]bool)}
	v.seen = v.printed()
	if f.Record {
		var size int
		record, size = b.record(f, result, v.advice())
		left -= size
	}

	v.fitBytes(left)
	shown := exhibits(result)
	if len(shown) > 0 {
		v.pictures = b.pictures(f.Side, shown, room(v, shown, left), b.copies(record))
		v.fitBytes(left) // it now says which are not shown
	}

	answer.Content = []mcp.Content{mcp.NewTextContent(v.text())}
	for i, p := range v.pictures {
		if p.data != nil {
			answer.Content = append(answer.Content, p.content(i, shown[i]))
		}
	}
	answer.Content = append(answer.Content, b.links(ctx, request, v)...)
	if record != nil {
		if b.Figures == FiguresInline {
			record.Base64URI = dataURIs(v.pictures)
		}
		if raw := b.structured(record); raw != nil {
			answer.StructuredContent, answer.RawStructuredContent = raw, raw
		}
	}
	return answer
}

// room is how many of the bytes that are left pictures may take beside the text.
func room(v view, shown []sessions.Figure, left int) int {
	lines := 0 // what is added to the text for a figure that is not shown, or smaller
	for _, figure := range shown {
		lines += 100 + len(figure.URI)
	}
	return left - travelling(v.text()) - lines
}

// copies is how many times a picture travels in an answer.
func (b *toolbox) copies(record *sessions.Result) int {
	switch {
	case b.Figures == FiguresNone:
		return 0
	case b.Figures == FiguresInline && record != nil:
		return 2
	default:
		return 1
	}
}

func dataURIs(pictures []picture) []string {
	var uris []string
	for _, p := range pictures {
		if p.data != nil {
			uris = append(uris, dataURI(p))
		}
	}
	return uris
}

// content is the i-th picture as a client gets it.
func (p picture) content(i int, figure sessions.Figure) mcp.ImageContent {
	image := mcp.NewImageContent(base64.StdEncoding.EncodeToString(p.data), p.mimeType)
	image.Annotations = &mcp.Annotations{Audience: []mcp.Role{mcp.RoleUser, mcp.RoleAssistant}}
	image.Meta = &mcp.Meta{AdditionalFields: map[string]any{"title": figureTitle(i, figure)}}
	return image
}
