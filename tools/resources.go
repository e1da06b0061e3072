package tools

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"time"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"

	"understudy/sessions"
)

// Library is what the resources need of *sessions.Manager.
type Library interface {
	Own(client sessions.Client) []string
	Interpreter(client sessions.Client, id string) (sessions.Listing, error)
	Executions(client sessions.Client, id string) ([]sessions.Brief, error)
	Brief(client sessions.Client, id string, number int) (sessions.Brief, error)
	Execution(client sessions.Client, id string, number int) (*sessions.Record, error)
	Output(ctx context.Context, client sessions.Client, id string, number int, stream sessions.Stream, r sessions.Range) (*sessions.Page, error)
	Figure(ctx context.Context, client sessions.Client, id, name string, most int64) (*sessions.File, sessions.Figure, error)
	Artifact(ctx context.Context, client sessions.Client, id, name string, r sessions.Range, most int64) (*sessions.File, sessions.Artifact, error)
	Files(ctx context.Context, client sessions.Client, id, dir string) (*sessions.Directory, error)
	Stat(ctx context.Context, client sessions.Client, id, name string) (sessions.FileInfo, error)
	File(ctx context.Context, client sessions.Client, id, name string, r sessions.Range, most int64) (*sessions.File, error)
}

var _ Library = (*sessions.Manager)(nil)

// shelf serves the resources.
type shelf struct {
	Options
	library Library
	server  *server.MCPServer
	updates *updates
}

// Resources are what a server serves of a Library; Close ends them.
type Resources struct{ shelf *shelf }

// RegisterResources adds the resources to the server: templates, a list of each
// caller's own, completion of what stands in a template, subscriptions.
func RegisterResources(s *server.MCPServer, library Library, o Options) *Resources {
	return &Resources{registerResources(s, library, o, updateEvery)}
}

// Leave says that a client is gone and not to come back under its name: nothing
// is looked at for it any more.
func (r *Resources) Leave(client sessions.Client) { r.shelf.updates.leave(client) }

// Close ends all subscriptions and waits for what is under way.
func (r *Resources) Close() { r.shelf.updates.close() }

func registerResources(s *server.MCPServer, library Library, o Options, every time.Duration) *shelf {
	l := &shelf{Options: o.withDefaults(), library: library, server: s}
	l.updates = newUpdates(l, every)
	server.WithResourceCapabilities(true, true)(s)
	server.WithCompletions()(s)
	server.WithResourceCompletionProvider(l)(s)
	for _, template := range templates() {
		s.AddResourceTemplate(template, nil) // reads don't come this far
	}
	s.AddResource(mcp.NewResource(readURI, "read"), l.hand)
	hooks := hooksOf(s)
	hooks.AddBeforeReadResource(l.fetch)
	hooks.AddAfterListResources(l.list)
	l.updates.hook(hooks)
	return l
}

// templates says what there is. What a model reads is short: some clients put
// it all before it.
func templates() []mcp.ResourceTemplate {
	text := mcp.WithTemplateMIMEType("text/plain")
	record := mcp.WithTemplateMIMEType("application/json")
	const range_ = " from: first line, negative from the end; lines: how many; match: only matching lines (RE2 or plain text)."
	return []mcp.ResourceTemplate{
		mcp.NewResourceTemplate(interpreterTemplate, "interpreter", record, mcp.WithTemplateDescription("An interpreter and its last runs.")),
		mcp.NewResourceTemplate(executionTemplate, "execution", record, mcp.WithTemplateDescription("The record of a run, with its code.")),
		mcp.NewResourceTemplate(stdoutTemplate, "stdout", text, mcp.WithTemplateDescription("All that a run printed."+range_)),
		mcp.NewResourceTemplate(stderrTemplate, "stderr", text, mcp.WithTemplateDescription("The same for standard error.")),
		mcp.NewResourceTemplate(figureTemplate, "figure", mcp.WithTemplateDescription("A figure in full resolution.")),
		mcp.NewResourceTemplate(artifactTemplate, "artifact", mcp.WithTemplateDescription("What a run has kept with artifact(); of text a part with from, lines, match.")),
		mcp.NewResourceTemplate(directoryTemplate, "files", record, mcp.WithTemplateDescription("A directory below the working directory.")),
		mcp.NewResourceTemplate(fileTemplate, "file", mcp.WithTemplateDescription("A working file; of text a part with from, lines, match.")),
	}
}

// readURI is where fetch sends every read; it is in no list and holds nothing.
const readURI = "understudy:read"

// fetched is under which name fetch leaves what it read.
const fetched = "understudy.fetched"

// fetch reads the resource before the library looks for who should, which says of what
// is nobody's that there is no handler: that tells a model nothing.
func (l *shelf) fetch(ctx context.Context, _ any, request *mcp.ReadResourceRequest) {
	uri, began := request.Params.URI, time.Now()
	contents, err := l.readGuarded(ctx, uri)
	if l.Read != nil {
		l.Read(ctx, uri, err, time.Since(began))
	}
	switch sessions.CodeOf(err) {
	case sessions.CodeNotFound:
		err = coded{err, server.ErrResourceNotFound}
	case sessions.CodeInvalid:
		err = coded{err, mcp.ErrInvalidParams}
	}
	request.Params.URI = readURI
	request.Params.Arguments = map[string]any{fetched: func() ([]mcp.ResourceContents, error) { return contents, err }}
}

// coded is an error in our own words to which the transports give the code of another.
type coded struct {
	error
	as error
}

func (c coded) Is(target error) bool { return target == c.as }

func (c coded) Unwrap() error { return c.error }

// hand returns what fetch read.
func (l *shelf) hand(_ context.Context, request mcp.ReadResourceRequest) ([]mcp.ResourceContents, error) {
	result, ok := request.Params.Arguments[fetched].(func() ([]mcp.ResourceContents, error))
	if !ok {
		return nil, errors.New("nothing was read")
	}
	return result()
}

// readGuarded reads, and tells of a fault of ours in one plain sentence.
func (l *shelf) readGuarded(ctx context.Context, uri string) (contents []mcp.ResourceContents, err error) {
	defer func() {
		if cause := recover(); cause != nil {
			contents, err = nil, fmt.Errorf("panic: %v\n%s", cause, debug.Stack())
		}
		if err == nil || sessions.CodeOf(err) != "" {
			return
		}
		if ctx.Err() != nil {
			err = sessions.Errorf(sessions.CodeClosed, "the read was cancelled")
			return
		}
		l.Logger.Error("resource not read", "uri", clip(uri, 300), "error", err)
		err = sessions.Errorf(sessions.CodeClosed, "the resource could not be read through a fault of the server, which has been logged")
	}()
	return l.read(ctx, uri)
}
