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
// clients that read it. The whole stays within ImageBudget.
func (b *toolbox) answer(ctx context.Context, request mcp.CallToolRequest, result *sessions.Result, call asked) *mcp.CallToolResult {
	result = located(result)
	answer := &mcp.CallToolResult{IsError: result.Status == sessions.StatusRefused}
	var record *sessions.Result
	if b.wantsRecord(ctx, request) {
		record = b.record(result)
	}

	v := view{Result: result, asked: call, budget: b.TextBudget, cut: new([2]bool)}
	if len(result.Figures) > 0 {
		v.pictures = b.pictures(result.Figures, b.room(v, record), b.copies(record))
	}

	answer.Content = []mcp.Content{mcp.NewTextContent(v.text())}
	for i, p := range v.pictures {
		if p.data != nil {
			answer.Content = append(answer.Content, p.content(i, result.Figures[i]))
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

// room is how many bytes of the budget are left for pictures.
func (b *toolbox) room(v view, record *sessions.Result) int {
	links := linkFrame * (2 + min(mostLinks, len(v.Figures)))
	lines := 0 // what is added to the text for a figure that is not shown, or smaller
	for _, figure := range v.Figures {
		lines += 100 + len(figure.URI)
	}
	return b.ImageBudget - envelope - travelling(v.text()) - travelling(record) - lines - links
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
	image.Meta = &mcp.Meta{AdditionalFields: map[string]any{"title": figureTitle(i, figure)}}
	return image
}
