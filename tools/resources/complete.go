package resources

import (
	"context"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/mark3labs/mcp-go/mcp"

	"understudy/sessions"
	"understudy/tools/resources/uri"
)

// mostCompletions is the protocol's limit.
const mostCompletions = 100

// CompleteResourceArgument completes what stands in a template: ids of the
// caller's interpreters, numbers of runs, names of figures and artifacts, paths of files. What
// depends on an interpreter needs its id, unless the caller has only one.
func (l *Server) CompleteResourceArgument(ctx context.Context, template string, argument mcp.CompleteArgument, around mcp.CompleteContext) (*mcp.Completion, error) {
	client := l.Client(ctx)
	id := around.Arguments["id"]
	if own := l.library.Own(client); id == "" && len(own) == 1 {
		id = own[0]
	}
	var all []string
	if argument.Name != "id" && id == "" { // of which?
		return completion(nil, ""), nil
	}
	switch argument.Name {
	case "id":
		all = l.library.Own(client)
		slices.Reverse(all) // the newest first
	case "n", "name":
		kind := uri.Figure
		switch {
		case argument.Name == "n":
			kind = uri.Execution
		case template == uri.Of(uri.Artifact).String():
			kind = uri.Artifact
		}
		all = l.namesOf(client, id, kind)
	case "path":
		all = l.paths(ctx, client, id, argument.Value)
	}
	return completion(all, argument.Value), nil
}

// namesOf lists the numbers of the executions that are kept, or the names of their figures
// or artifacts, the newest first.
func (l *Server) namesOf(client sessions.Client, id string, kind uri.Kind) (all []string) {
	briefs, err := l.library.Executions(client, id)
	if err != nil { // nothing to complete from
		return nil
	}
	for _, b := range slices.Backward(briefs) {
		switch kind {
		case uri.Execution:
			all = append(all, strconv.Itoa(b.Execution))
		case uri.Figure:
			for _, figure := range b.Figures {
				all = append(all, uri.FileName(figure.Path))
			}
		default:
			for _, a := range slices.Backward(b.Artifacts) {
				if !slices.Contains(all, a.Name) {
					all = append(all, a.Name)
				}
			}
		}
	}
	return all
}

func completion(all []string, start string) *mcp.Completion {
	fitting := []string{}
	for _, value := range all {
		if strings.HasPrefix(value, start) {
			fitting = append(fitting, value)
		}
	}
	total := len(fitting)
	return &mcp.Completion{Values: fitting[:min(total, mostCompletions)], Total: total, HasMore: total > mostCompletions}
}

// paths lists what is in the directory that the caller has come to; directories
// end in a slash.
func (l *Server) paths(ctx context.Context, client sessions.Client, id, start string) (all []string) {
	listed, err := l.library.Files(ctx, client, id, path.Dir(start+"x"))
	if err != nil {
		return nil
	}
	for _, entry := range listed.Entries {
		name := entry.Path
		if entry.Kind == sessions.KindDirectory {
			name += "/"
		}
		all = append(all, name)
	}
	return all
}
