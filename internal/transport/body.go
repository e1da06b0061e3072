package transport

import (
	"context"
	"errors"
	"io"
	"mime"
	"net/http"
	"sync"
	"time"

	"golang.org/x/sync/semaphore"
)

const (
	// sending is how long a body may take; each byte that comes adds to it.
	sending = 20 * time.Second
	// bodyRate is how many bytes a second a body must bring after that.
	bodyRate = 16 << 10
	// wholeBody is how long a body may take at most: at its slowest the largest
	// one would hold its memory for more than an hour.
	wholeBody = 10 * time.Minute
	// largeBody is from where on bodies share the memory that there is for them.
	largeBody = 1 << 20
	// bodiesAtOnce is how many of the largest bodies there is memory for.
	bodiesAtOnce = 4
	// bodyStep is how much of it a body takes at a time.
	bodyStep = 1 << 20
)

// bodies reads the bodies of requests, within a size, a time and a memory.
type bodies struct {
	limit  int64
	memory *semaphore.Weighted
	start  time.Duration

	mu    sync.Mutex
	taken map[string]int64 // of the memory, by owner
}

func newBodies(limit int64, start time.Duration) *bodies {
	return &bodies{limit: limit, memory: semaphore.NewWeighted(bodiesAtOnce * max(limit, bodyStep)), start: start, taken: map[string]int64{}}
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
		refuseBody(w, &http.MaxBytesError{Limit: b.limit})
		return nil, nil, false
	}
	now := time.Now()
	in := &incoming{
		of: b, owner: ownerOf(r, CallerFrom(r.Context()).Principal), ctx: r.Context(),
		from: http.MaxBytesReader(w, r.Body, b.limit), clock: http.NewResponseController(w),
		until: now.Add(b.start), last: now.Add(wholeBody),
	}
	body, err := io.ReadAll(in)
	if err != nil {
		in.release()
		refuseBody(w, err)
		return nil, nil, false
	}
	// The deadline is the connection's, and an answer may take longer. After
	// an error it stays: the server skips what is left of a body.
	_ = in.clock.SetReadDeadline(time.Time{})
	return body, in.release, true
}

func refuseBody(w http.ResponseWriter, err error) {
	w.Header().Set("Connection", "close")
	switch {
	case errors.As(err, new(*http.MaxBytesError)):
		http.Error(w, "the message is too large; nothing was done", http.StatusRequestEntityTooLarge)
	case errors.Is(err, errNoMemory):
		http.Error(w, err.Error(), http.StatusServiceUnavailable)
	default:
		http.Error(w, "the message could not be read in time", http.StatusRequestTimeout)
	}
}

// incoming is a body that is read. The deadline of its connection moves on as bytes come,
// up to the last one: who sends a byte now and then holds nothing for long. Its part of the
// memory for large ones grows with what has come: who announces much, or nothing, keeps
// nobody out by that.
type incoming struct {
	of    *bodies
	owner string
	ctx   context.Context

	from        io.Reader
	clock       *http.ResponseController
	until, last time.Time
	size        int64
	taken       int64 // of the memory
}

var errNoMemory = errors.New("too many large messages at once; try again")

// Read moves the deadline on, and takes memory for what came.
func (in *incoming) Read(p []byte) (int, error) {
	// Not every connection has deadlines; those of tests have none.
	_ = in.clock.SetReadDeadline(in.until)
	n, err := in.from.Read(p)
	in.until = in.until.Add(time.Duration(n) * time.Second / bodyRate)
	if in.until.After(in.last) {
		in.until = in.last
	}
	in.size += int64(n)
	if full := in.grow(in.size); full != nil {
		return n, full
	}
	return n, err
}

// grow takes the memory for a body of this size.
func (in *incoming) grow(size int64) error {
	for size > largeBody+in.taken {
		if !in.of.count(in.owner, bodyStep) {
			return errNoMemory
		}
		ctx, cancel := context.WithTimeout(in.ctx, in.of.start)
		err := in.of.memory.Acquire(ctx, bodyStep)
		cancel()
		if err != nil {
			in.of.count(in.owner, -bodyStep)
			return errNoMemory
		}
		in.taken += bodyStep
	}
	return nil
}

func (in *incoming) release() {
	in.of.memory.Release(in.taken)
	in.of.count(in.owner, -in.taken)
	in.taken = 0
}

// count adds to what one client has of the memory, which may be half of it.
func (b *bodies) count(owner string, more int64) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	now := b.taken[owner] + more
	if more > 0 && now > max(bodyStep, bodiesAtOnce*b.limit/2) {
		return false
	}
	if b.taken[owner] = now; now == 0 {
		delete(b.taken, owner)
	}
	return true
}
