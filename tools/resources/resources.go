// Package resources is what an agent, and the program around it, can read: interpreters,
// their runs, output, figures, artifacts and files.
package resources

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
	"time"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"

	"understudy/sessions"
	"understudy/tools/answer"
	"understudy/tools/resources/uri"
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

// updateEvery is how often subscribers hear of a change at most.
const updateEvery = time.Second

// Options are what a server serves beside what the Library has.
type Options struct {
	// Client names the caller of a request.
	Client func(context.Context) sessions.Client
	// Preview returns a text in Markdown on the data in input/ of the working
	// directory. Nil is for a server without data.
	Preview func(context.Context) (string, error)
	// PreviewReady waits for a while until the data is there; nil: it is.
	PreviewReady func(context.Context)
	// Read is told of each read of a resource; nil: nobody is.
	Read   func(ctx context.Context, uri string, err error, took time.Duration)
	Logger *slog.Logger

	every time.Duration // updateEvery, but in tests
}

// Server serves the resources; Close ends it.
type Server struct {
	Options
	library Library
	server  *server.MCPServer
	updates *updates
}

// Register adds the resources to the server, which must have hooks: templates, a list of
// each caller's own, completion of what stands in a template, subscriptions.
func Register(s *server.MCPServer, library Library, o Options) *Server {
	o.every = cmp.Or(o.every, updateEvery)
	l := &Server{Options: o, library: library, server: s}
	l.updates = newUpdates(l)
	server.WithResourceCapabilities(true, true)(s)
	server.WithCompletions()(s)
	server.WithResourceCompletionProvider(l)(s)
	for _, t := range uri.Templates {
		s.AddResourceTemplate(mcp.NewResourceTemplate(t.String(), t.Name,
			mcp.WithTemplateMIMEType(t.MIMEType), mcp.WithTemplateDescription(t.Description)), nil) // reads don't come this far
	}
	s.AddResource(mcp.NewResource(readURI, "read"), l.hand)
	hooks := s.GetHooks()
	hooks.AddBeforeReadResource(l.fetch)
	hooks.AddAfterListResources(l.list)
	l.updates.hook(hooks)
	return l
}

// Leave says that a client is gone and not to come back under its name: nothing
// is looked at for it any more.
func (l *Server) Leave(client sessions.Client) {
	l.updates.end(func(s *subscriber) bool { return s.client == client })
}

// Close ends all subscriptions and waits for what is under way.
func (l *Server) Close() { l.updates.close() }

// readURI is where fetch sends every read; it is in no list and holds nothing.
const readURI = "understudy:read"

// fetched is under which name fetch leaves what it read.
const fetched = "understudy.fetched"

// fetch reads the resource before the library looks for who should, which says of what
// is nobody's that there is no handler: that tells a model nothing.
func (l *Server) fetch(ctx context.Context, _ any, request *mcp.ReadResourceRequest) {
	address, began := request.Params.URI, time.Now()
	contents, err := l.readGuarded(ctx, address)
	if l.Read != nil {
		l.Read(ctx, address, err, time.Since(began))
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
func (l *Server) hand(_ context.Context, request mcp.ReadResourceRequest) ([]mcp.ResourceContents, error) {
	result, ok := request.Params.Arguments[fetched].(func() ([]mcp.ResourceContents, error))
	if !ok {
		return nil, errors.New("nothing was read")
	}
	return result()
}

// readGuarded reads, and tells of a fault of ours in one plain sentence.
func (l *Server) readGuarded(ctx context.Context, address string) (contents []mcp.ResourceContents, err error) {
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
		l.Logger.Error("resource not read", "uri", answer.Clip(address, 300), "error", err)
		err = sessions.Errorf(sessions.CodeClosed, "the resource could not be read through a fault of the server, which has been logged")
	}()
	return l.read(ctx, address)
}
