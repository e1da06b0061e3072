package transport

import (
	"context"
	"errors"
	"io"
	"mime"
	"net/http"
	"time"

	"golang.org/x/sync/semaphore"
)

const (
	// sending is how long a body may take; each byte that comes adds to it.
	sending = 20 * time.Second
	// bodyRate is how many bytes a second a body must bring after that.
	bodyRate = 16 << 10
	// largeBody is from where on bodies share the memory that there is for them.
	largeBody = 1 << 20
	// bodiesAtOnce is how many of the largest bodies there is memory for.
	bodiesAtOnce = 4
)

// bodies reads the bodies of requests, within a size, a time and a memory.
type bodies struct {
	limit  int64
	memory *semaphore.Weighted
	start  time.Duration
}

func newBodies(limit int64, start time.Duration) *bodies {
	return &bodies{limit: limit, memory: semaphore.NewWeighted(bodiesAtOnce * limit), start: start}
}

// read returns the body, which the caller gives back with release. Otherwise
// it has answered the request.
func (b *bodies) read(w http.ResponseWriter, r *http.Request) (body []byte, release func(), ok bool) {
	if kind, _, err := mime.ParseMediaType(r.Header.Get("Content-Type")); err != nil || kind != "application/json" {
		http.Error(w, "Content-Type must be application/json", http.StatusUnsupportedMediaType)
		return nil, nil, false
	}
	if encoding := r.Header.Get("Content-Encoding"); encoding != "" && encoding != "identity" {
		http.Error(w, "Content-Encoding is not supported; send the message as it is", http.StatusUnsupportedMediaType)
		return nil, nil, false
	}
	if r.ContentLength > b.limit {
		tooLarge(w)
		return nil, nil, false
	}
	release, err := b.reserve(r)
	if err != nil {
		http.Error(w, "too many large messages at once; try again", http.StatusServiceUnavailable)
		return nil, nil, false
	}
	body, err = b.slowly(w, r)
	if err != nil {
		release()
		var large *http.MaxBytesError
		if errors.As(err, &large) {
			tooLarge(w)
		} else {
			w.Header().Set("Connection", "close")
			http.Error(w, "the message could not be read in time", http.StatusRequestTimeout)
		}
		return nil, nil, false
	}
	return body, release, true
}

func tooLarge(w http.ResponseWriter) {
	w.Header().Set("Connection", "close")
	http.Error(w, "the message is too large; the operator can allow more with --max-request", http.StatusRequestEntityTooLarge)
}

// reserve takes the memory that a large body needs.
func (b *bodies) reserve(r *http.Request) (release func(), err error) {
	size := r.ContentLength
	if size < 0 {
		size = b.limit
	}
	if size <= largeBody {
		return func() {}, nil
	}
	ctx, cancel := context.WithTimeout(r.Context(), b.start)
	defer cancel()
	if err := b.memory.Acquire(ctx, size); err != nil {
		return nil, err
	}
	return func() { b.memory.Release(size) }, nil
}

// slowly reads the body with a time for it that grows with what has come: who
// sends a byte now and then holds nothing for long.
func (b *bodies) slowly(w http.ResponseWriter, r *http.Request) ([]byte, error) {
	body := &timedBody{
		in:    http.MaxBytesReader(w, r.Body, b.limit),
		clock: http.NewResponseController(w), until: time.Now().Add(b.start),
	}
	whole, err := io.ReadAll(body)
	if err == nil {
		// The deadline is the connection's, and an answer may take longer. After
		// an error it stays: the server skips what is left of a body.
		_ = body.clock.SetReadDeadline(time.Time{})
	}
	return whole, err
}

// timedBody moves the deadline of its connection on as bytes come.
type timedBody struct {
	in    io.Reader
	clock *http.ResponseController
	until time.Time
}

func (t *timedBody) Read(p []byte) (int, error) {
	// Not every connection has deadlines; those of tests have none.
	_ = t.clock.SetReadDeadline(t.until)
	n, err := t.in.Read(p)
	t.until = t.until.Add(time.Duration(n) * time.Second / bodyRate)
	return n, err
}
