package gateway

import (
	"context"
	"encoding/json"
	"sync"
	"time"

	"github.com/mark3labs/mcp-go/mcp"
)

const (
	// quietWait is how long a client waits for its pod before it hears that it does.
	quietWait = time.Second
	// waitBeat is how often it hears so after that.
	waitBeat = 2 * time.Second
	// waitStep is by how much its progress grows each time: what the pod says of the same
	// request must be more, and begins with seconds.
	waitStep = 1e-6
)

// tellWaiting tells a client that asked for progress that it waits, and for what, until stop
// is called or ctx ends. One that opens a session has its id from the head of the answer,
// which is not sent before the pod has answered then.
func (a *reply) tellWaiting(ctx context.Context, why func() string) (stop func()) {
	if a.f.ProgressToken == nil || a.f.ID == nil || !a.takesEvents || a.f.Method == string(mcp.MethodInitialize) {
		return func() {}
	}
	ctx, cancel := context.WithCancel(ctx)
	var telling sync.WaitGroup
	telling.Go(func() {
		next := time.NewTimer(quietWait)
		defer next.Stop()
		for step := 1; ; step++ {
			select {
			case <-ctx.Done():
				return
			case <-next.C:
				a.progress(float64(step)*waitStep, "waiting for a pod: "+why())
				next.Reset(waitBeat)
			}
		}
	})
	return func() {
		cancel()
		telling.Wait()
	}
}

// progress sends a notification of progress. A client that does not take it is gone, which
// ends its request.
func (a *reply) progress(value float64, text string) {
	message, err := json.Marshal(map[string]any{
		"jsonrpc": mcp.JSONRPC_VERSION, "method": "notifications/progress",
		"params": map[string]any{"progressToken": a.f.ProgressToken, "progress": value, "message": text},
	})
	if err != nil { // of a token that was read, a number and a text
		panic(err)
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	_ = a.event(asEvent(message))
}
