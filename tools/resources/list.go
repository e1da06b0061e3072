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
	listed := map[string]bool{} // the artifacts, by name: the newest is what there is
	for _, b := range slices.Backward(briefs) {
		for _, a := range slices.Backward(b.Artifacts) {
			if !listed[a.Name] {
				listed[a.Name] = true
				name := fmt.Sprintf("%s (run %d of %s)", answer.Clip(a.Name, 120), b.Execution, short(id))
				made = append(made, mcp.NewResource(uri.OfArtifact(id, a.Name), name, mcp.WithMIMEType(a.MIMEType)))
			}
		}
		for i, figure := range b.Figures {
			name := fmt.Sprintf("%s (run %d of %s)", answer.FigureTitle(i, figure), b.Execution, short(id))
			made = append(made, mcp.NewResource(uri.OfFigure(id, figure), name, mcp.WithMIMEType(figure.MIMEType)))
		}
		for stream, long := range b.Long {
			if long {
				stream := sessions.Stream(stream)
				name := fmt.Sprintf("%s of run %d of %s", stream, b.Execution, short(id))
				made = append(made, mcp.NewResource(uri.OfOutput(id, b.Execution, stream), name, mcp.WithMIMEType("text/plain")))
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
