package workertest

import (
	"bytes"
	"context"
	"slices"
	"sync"

	"understudy/sessions"
)

// Recorder is a sessions.Sink that keeps everything.
type Recorder struct {
	mu      sync.Mutex
	streams [2]bytes.Buffer
	all     bytes.Buffer
	figures []sessions.Figure
	kept    []sessions.Artifact
	// printed is signalled when something was added.
	printed chan struct{}
	asked   chan sessions.Question
	// Tools answers requests to other MCP servers; nil: none is expected.
	Tools func(context.Context, sessions.ToolRequest) (*sessions.ToolAnswer, error)
}

// NewRecorder returns an empty Recorder.
func NewRecorder() *Recorder {
	return &Recorder{printed: make(chan struct{}, 1), asked: make(chan sessions.Question, 100)}
}

// Tool has Tools answer.
func (r *Recorder) Tool(ctx context.Context, request sessions.ToolRequest) (*sessions.ToolAnswer, error) {
	return r.Tools(ctx, request)
}

// Output keeps text.
func (r *Recorder) Output(stream sessions.Stream, text []byte) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.streams[stream].Write(text)
	r.all.Write(text)
	select {
	case r.printed <- struct{}{}:
	default:
	}
}

// Figure keeps the figure.
func (r *Recorder) Figure(figure sessions.Figure) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.figures = append(r.figures, figure)
}

// Artifact keeps the artifact.
func (r *Recorder) Artifact(artifact sessions.Artifact) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.kept = append(r.kept, artifact)
}

// Clear forgets what is not shown any more.
func (r *Recorder) Clear(cleared sessions.Cleared) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if cleared.Figures {
		r.figures = nil
	}
	r.kept = slices.DeleteFunc(r.kept, func(a sessions.Artifact) bool { return slices.Contains(cleared.Artifacts, a.Name) })
}

// Artifacts returns what was kept.
func (r *Recorder) Artifacts() []sessions.Artifact {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.kept
}

// Text returns what a stream said.
func (r *Recorder) Text(stream sessions.Stream) string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.streams[stream].String()
}

// All returns both streams in order of arrival.
func (r *Recorder) All() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.all.String()
}

// Figures returns what was shown.
func (r *Recorder) Figures() []sessions.Figure {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.figures
}

// Printed is ready to be received from after text has arrived.
func (r *Recorder) Printed() <-chan struct{} { return r.printed }

// Ask keeps the question for Asked.
func (r *Recorder) Ask(question sessions.Question) { r.asked <- question }

// Asked is ready to be received from when the code asks.
func (r *Recorder) Asked() <-chan sessions.Question { return r.asked }
