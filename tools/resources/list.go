package resources

import (
	"context"
	"fmt"
	"slices"

	"github.com/mark3labs/mcp-go/mcp"

	"understudy/sessions"
	"understudy/tools/answer"
	"understudy/tools/resources/uri"
)

// Bounds of a list of resources.
const (
	mostListed = 100 // in all
	mostOfOne  = 30  // of one interpreter
)

// list puts the caller's own resources in the place of those that mcp-go knows.
func (l *Server) list(ctx context.Context, _ any, _ *mcp.ListResourcesRequest, result *mcp.ListResourcesResult) {
	result.Resources, result.NextCursor = l.own(l.Client(ctx)), ""
	l.updates.listed(ctx, result.Resources)
}

// own lists what a client would want to look at: the data, and its interpreters, the
// newest first, each with its newest figures, artifacts and long outputs. The templates
// reach all the rest.
func (l *Server) own(client sessions.Client) []mcp.Resource {
	all := []mcp.Resource{}
	if l.Preview != nil {
		all = append(all, mcp.NewResource(uri.Preview, "preview of the data in input/", mcp.WithMIMEType("text/markdown")))
	}
	for _, id := range slices.Backward(l.library.Own(client)) {
		some := append([]mcp.Resource{
			jsonResource(uri.OfInterpreter(id), "interpreter "+short(id)),
			jsonResource(uri.OfDirectory(id, ""), "files of "+short(id)),
		}, l.made(client, id)...)
		all = append(all, some[:min(len(some), mostOfOne)]...)
		if len(all) >= mostListed {
			return all[:mostListed]
		}
	}
	return all
}

// made lists the figures, the artifacts and the long outputs of an interpreter, newest first.
func (l *Server) made(client sessions.Client, id string) (made []mcp.Resource) {
	briefs, err := l.library.Executions(client, id)
	if err != nil { // it has just ended
		return nil
	}
	listed := map[string]bool{} // the newest artifact of a name is what there is
	for _, b := range slices.Backward(briefs) {
		add := func(address, name, mimeType string) {
			name = fmt.Sprintf("%s (run %d of %s)", name, b.Execution, short(id))
			if !listed[address] {
				made = append(made, mcp.NewResource(address, name, mcp.WithMIMEType(mimeType)))
			}
			listed[address] = true
		}
		for _, a := range slices.Backward(b.Artifacts) {
			add(uri.OfArtifact(id, a.Name), answer.Clip(a.Name, 120), a.MIMEType)
		}
		for i, figure := range b.Figures {
			add(uri.OfFigure(id, figure), answer.FigureTitle(i, figure), figure.MIMEType)
		}
		for i, long := range b.Long {
			if stream := sessions.Stream(i); long {
				add(uri.OfOutput(id, b.Execution, stream), stream.String(), "text/plain")
			}
		}
		if len(made) > mostOfOne {
			break
		}
	}
	return made
}

func jsonResource(address, name string) mcp.Resource {
	return mcp.NewResource(address, name, mcp.WithMIMEType("application/json"))
}

// short is as much of an id as a reader needs to tell interpreters apart.
func short(id string) string { return answer.First(id, 8) }
