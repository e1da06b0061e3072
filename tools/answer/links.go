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
	// mostLinks is how many resources one answer links to.
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
	whole := uri.FileName(r.OutputPath) // of the stream that is in a file, of two the first
	switch {
	case r.StdoutTruncated > 0 || whole == sessions.Stdout.String():
		r.OutputURI = uri.OfOutput(r.InterpreterID, r.Execution, sessions.Stdout)
	case r.StderrTruncated > 0 || whole == sessions.Stderr.String():
		r.OutputURI = uri.OfOutput(r.InterpreterID, r.Execution, sessions.Stderr)
	}
	return &r
}

// links returns links to the whole of what the answer shows in part, and to the
// artifacts, for clients that know links. The text names them for all.
func (v view) links(ctx context.Context) (links []mcp.Content) {
	if server.RequestProtocolVersion(ctx) < firstWithLinks { // one that says nothing is an old one
		return nil
	}
	for _, stream := range []sessions.Stream{sessions.Stdout, sessions.Stderr} {
		if v.cut[stream] {
			name := fmt.Sprintf("%s of run %d", stream, v.Execution)
			links = append(links, link(uri.OfOutput(v.InterpreterID, v.Execution, stream), name, "text/plain"))
		}
	}
	for i, figure := range v.Figures {
		if v.partial(i) {
			links = append(links, link(figure.URI, FigureTitle(i, figure), figure.MIMEType))
		}
	}
	for _, a := range v.Artifacts {
		if a.URI != "" {
			artifact := link(a.URI, Clip(a.Name, 120), a.MIMEType)
			artifact.Size = &a.Size
			links = append(links, artifact)
		}
	}
	return links[:min(len(links), mostLinks)]
}

// link is a resource that an answer points to.
func link(address, name, mimeType string) mcp.ResourceLink {
	l := mcp.NewResourceLink(address, name, "", mimeType)
	l.Annotations = &mcp.Annotations{Audience: []mcp.Role{mcp.RoleUser}}
	return l
}

// partial reports whether the i-th figure is not shown in full resolution.
func (v view) partial(i int) bool {
	return v.Figures[i].URI != "" && v.pictures != nil && (v.pictures[i].data == nil || v.pictures[i].scaled)
}
