package transport

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"

	"github.com/mark3labs/mcp-go/server"
)

// errDropped is why the calls of a client end whose stream broke.
var errDropped = errors.New("the client's stream is gone")

// Dropped reports whether ctx ended because the client's connection was lost,
// which is no wish to cancel anything.
func Dropped(ctx context.Context) bool { return errors.Is(context.Cause(ctx), errDropped) }

// serveStream is the long GET of a client of SSE: what it is told travels here.
func (h *HTTP) serveStream(w http.ResponseWriter, r *http.Request) {
	flusher, ok := w.(http.Flusher)
	if !ok {
		http.Error(w, "streams are not possible here", http.StatusInternalServerError)
		return
	}
	caller := CallerFrom(r.Context())
	s := newStream()
	s.id = h.peers.add(caller.Principal, s)
	caller = caller.ofSession(s.id)
	ctx, drop := context.WithCancelCause(WithCaller(context.WithoutCancel(r.Context()), caller))
	s.ctx = h.mcp.WithContext(ctx, s)
	defer func() {
		h.peers.remove(s.id, caller.Principal)
		h.mcp.UnregisterSession(ctx, s.id)
		drop(errDropped)
		h.left(caller, false)
	}()
	if err := h.mcp.RegisterSession(ctx, s); err != nil {
		http.Error(w, "the stream could not be opened", http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "text/event-stream")
	w.Header().Set("Cache-Control", "no-cache")
	fmt.Fprintf(w, "event: endpoint\ndata: %s?sessionId=%s\n\n", MessagePath, s.id)
	flusher.Flush()
	for {
		message, ok := s.next(r.Context())
		if !ok {
			return
		}
		text, err := json.Marshal(message)
		if err != nil {
			h.log.Error("a message can't be sent", "error", err)
			continue
		}
		if _, err := fmt.Fprintf(w, "event: message\ndata: %s\n\n", text); err != nil {
			return
		}
		flusher.Flush()
	}
}

// serveMessage takes one message of a client of SSE; the answer goes to its
// stream.
func (h *HTTP) serveMessage(w http.ResponseWriter, r *http.Request) {
	one := h.peers.find(r.URL.Query().Get("sessionId"), CallerFrom(r.Context()).Principal)
	if one == nil || one.stream == nil {
		http.Error(w, "no such session; open a new stream at "+SSEPath, http.StatusNotFound)
		return
	}
	message, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxLine))
	if err != nil || !json.Valid(message) {
		http.Error(w, "the message is no JSON", http.StatusBadRequest)
		return
	}
	go h.answer(one.stream, message)
	w.WriteHeader(http.StatusAccepted)
}

// answer handles a message and queues what is answered.
func (h *HTTP) answer(s *stream, message []byte) {
	if response := h.mcp.HandleMessage(s.ctx, message); response != nil {
		s.answer(response)
	}
}

var _ server.ClientSession = (*stream)(nil)
