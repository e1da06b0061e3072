package answer

import (
	"context"
	"fmt"
	"slices"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"

	"understudy/sessions"
	"understudy/tools/resources/uri"
)

const (
	// linkFrame is what a link needs of a message, with a title of 120
	// characters that may be escaped.
	linkFrame = 1200
	// mostLinks is how many figures and artifacts of one answer are linked.
	mostLinks = 20
	// firstWithLinks is the first version of the protocol that knows resource
	// links; older clients refuse a whole answer for a content they don't know.
	firstWithLinks = "2025-06-18"
)

// Located returns the result with the URIs of its figures, its artifacts, and of
// its output when that is long. The result itself stays as it is, because others hold it.
func Located(result *sessions.Result) *sessions.Result {
	if result.InterpreterID == "" {
		return result
	}
	r := *result
	r.Figures, r.Artifacts = slices.Clone(r.Figures), slices.Clone(r.Artifacts)
	for i, figure := range r.Figures {
		if figure.Path != "" {
			r.Figures[i].URI = uri.OfFigure(r.InterpreterID, figure)
		}
	}
	for i, artifact := range r.Artifacts {
		r.Artifacts[i].URI = uri.OfArtifact(r.InterpreterID, artifact.Name)
	}
	if stream, long := longStream(&r); long {
		r.OutputURI = uri.OfOutput(r.InterpreterID, r.Execution, stream)
	}
	return &r
}

// longStream returns the stream of a result that is not all in it, or is in a
// file; of two the first.
func longStream(r *sessions.Result) (stream sessions.Stream, long bool) {
	switch {
	case r.StdoutTruncated > 0 || uri.FileName(r.OutputPath) == sessions.Stdout.String():
		return sessions.Stdout, true
	case r.StderrTruncated > 0 || uri.FileName(r.OutputPath) == sessions.Stderr.String():
		return sessions.Stderr, true
	}
	return 0, false
}

// linked is a resource that an answer points to.
type linked struct {
	uri, name, mimeType string
	size                *int64
}

func (l linked) content() mcp.ResourceLink {
	link := mcp.NewResourceLink(l.uri, l.name, "", l.mimeType)
	link.Size = l.size
	link.Annotations = &mcp.Annotations{Audience: []mcp.Role{mcp.RoleUser}}
	return link
}

// links returns links to the whole of what the answer shows in part, and to the
// artifacts, for clients that know links. The text names them for all.
func (b *Renderer) links(ctx context.Context, v view) (links []mcp.Content) {
	if !knowsLinks(ctx) {
		return nil
	}
	for _, stream := range []sessions.Stream{sessions.Stdout, sessions.Stderr} {
		if v.cut[stream] {
			link := linked{uri.OfOutput(v.InterpreterID, v.Execution, stream), fmt.Sprintf("%s of run %d", stream, v.Execution), "text/plain", b.printed(ctx, v.Result, stream)}
			links = append(links, link.content())
		}
	}
	for i, figure := range v.Figures {
		if v.partial(i) && len(links) < mostLinks {
			links = append(links, linked{uri: figure.URI, name: FigureTitle(i, figure), mimeType: figure.MIMEType}.content())
		}
	}
	for _, artifact := range v.artifactLinks() {
		if len(links) < mostLinks {
			links = append(links, artifact.content())
		}
	}
	return links
}

// knowsLinks reports whether the caller's version of the protocol has links. A client that
// says nothing is an old one.
func knowsLinks(ctx context.Context) bool {
	return server.RequestProtocolVersion(ctx) >= firstWithLinks
}

// printed is the size of an execution's output so far, nil where it isn't known.
func (b *Renderer) printed(ctx context.Context, r *sessions.Result, stream sessions.Stream) *int64 {
	if b.Brief == nil {
		return nil
	}
	brief, err := b.Brief(b.Client(ctx), r.InterpreterID, r.Execution)
	if err != nil {
		return nil
	}
	return &brief.Printed[stream]
}

// partial reports whether the i-th figure is not shown in full resolution.
func (v view) partial(i int) bool {
	return v.Figures[i].URI != "" && v.pictures != nil && (v.pictures[i].data == nil || v.pictures[i].scaled)
}
