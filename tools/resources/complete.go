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

// CompleteResourceArgument completes what stands in a template, the newest first: ids of the
// caller's interpreters, numbers of runs, names of figures and artifacts, paths of files. What
// depends on an interpreter needs its id, unless the caller has only one.
func (l *Server) CompleteResourceArgument(ctx context.Context, template string, argument mcp.CompleteArgument, around mcp.CompleteContext) (*mcp.Completion, error) {
	client := l.Client(ctx)
	own := l.library.Own(client)
	slices.Reverse(own)
	id := around.Arguments["id"]
	if id == "" && len(own) == 1 {
		id = own[0]
	}
	var all []string
	switch {
	case argument.Name == "id":
		all = own
	case id == "": // of which?
	case argument.Name == "path":
		all = l.paths(ctx, client, id, argument.Value)
	case argument.Name == "n" || argument.Name == "name":
		all = l.namesOf(client, id, argument.Name == "n", template == uri.Of(uri.Artifact).String())
	}
	fitting := []string{}
	for _, value := range all {
		if strings.HasPrefix(value, argument.Value) && !slices.Contains(fitting, value) {
			fitting = append(fitting, value)
		}
	}
	total := len(fitting)
	return &mcp.Completion{Values: fitting[:min(total, mostCompletions)], Total: total, HasMore: total > mostCompletions}, nil
}

// namesOf lists the numbers of the executions that are kept, or the names of their artifacts
// or figures.
func (l *Server) namesOf(client sessions.Client, id string, numbers, artifacts bool) (all []string) {
	briefs, _ := l.library.Executions(client, id) // of another's there are none
	for _, b := range slices.Backward(briefs) {
		switch {
		case numbers:
			all = append(all, strconv.Itoa(b.Execution))
		case artifacts:
			for _, a := range slices.Backward(b.Artifacts) {
				all = append(all, a.Name)
			}
		default:
			for _, figure := range b.Figures {
				all = append(all, uri.FileName(figure.Path))
			}
		}
	}
	return all
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
