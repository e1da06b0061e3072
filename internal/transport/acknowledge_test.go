package transport

import (
	"strings"
	"sync"
	"testing"
)

// TestListeningIsAcknowledgedFirst: also when there is nothing to listen to, so
// that the answer follows at once.
func TestListeningIsAcknowledgedFirst(t *testing.T) {
	const listeners, times = 8, 25
	h := open(t, HTTPOptions{})
	nothing := inModern(t, post(`{"jsonrpc":"2.0","id":1,"method":"subscriptions/listen","params":{"notifications":{"promptsListChanged":true}}}`))
	var all sync.WaitGroup
	for range listeners {
		all.Go(func() {
			for range times {
				_, body := h.send(t, nothing)
				acknowledged, answered := strings.Index(body, "subscriptions/acknowledged"), strings.Index(body, `"result"`)
				if acknowledged < 0 || answered < acknowledged {
					t.Errorf("%q", body)
				}
			}
		})
	}
	all.Wait()
}
