package transport

import (
	"net/http"
	"testing"
	"time"
)

// elsewhere answers what is forwarded, once it may.
type elsewhere struct{ came, answer chan struct{} }

func (e elsewhere) Forward(w http.ResponseWriter, r *http.Request, f Forwarded) {
	e.came <- struct{}{}
	select {
	case <-e.answer:
		w.WriteHeader(http.StatusOK)
	case <-r.Context().Done():
	}
}

// TestAnArrayIsACall where it is forwarded: one among those that a client may have open,
// and that a server which stops waits for.
func TestAnArrayIsACall(t *testing.T) {
	to := elsewhere{make(chan struct{}, 10), make(chan struct{})}
	h := open(t, HTTPOptions{Authenticator: names{}, Forward: to, MaxCalls: 1, StopGrace: patient})
	array := post("["+calling(1, "who", "")+","+calling(2, "who", "")+"]").with("Authorization", "Bearer ann")
	first := make(chan int)
	go func() {
		response, _ := h.send(t, array)
		first <- response.StatusCode
	}()
	soon(t, to.came)
	response, _ := h.send(t, array)
	expect(t, response.StatusCode == http.StatusTooManyRequests, "a second array: %s", response.Status)
	h.stop()
	for !h.work.isStopping() {
		time.Sleep(time.Millisecond)
	}
	expect(t, !h.work.wait(time.Millisecond), "the server does not wait for an array")
	to.answer <- struct{}{}
	expect(t, soon(t, first) == http.StatusOK, "the array was not answered")
}
