package gateway

import (
	"context"
	"fmt"
	"net/http"
	"runtime"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/dynamic"
)

// deaf is an API whose watch tells of nothing, as one does whose connection has broken.
type deaf struct{ dynamic.ResourceInterface }

func (deaf) Watch(ctx context.Context, _ metav1.ListOptions) (watch.Interface, error) {
	silent := watch.NewFake()
	context.AfterFunc(ctx, silent.Stop)
	return silent, nil
}

// deafGateway is one that hears of no claim that is made from now on.
func (c *cluster) deafGateway(change func(*Options)) *testGateway {
	hearing := c.api
	defer func() { c.api = hearing }()
	c.api = deaf{hearing}
	g := c.gateway(change)
	for !g.claims.informer.HasSynced() {
		time.Sleep(time.Millisecond)
	}
	return g
}

const initialize = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"_meta":{"progressToken":7}}}`

// TestASessionOfAnotherGateway is there, though this one has not heard of its claim.
func TestASessionOfAnotherGateway(t *testing.T) {
	c := newCluster(t)
	perSession := func(o *Options) { o.PerSession = true }
	one, late := c.gateway(perSession), c.deafGateway(perSession)
	session := one.says(t, "127.0.0.2", "program", initialize).Header.Get("Mcp-Session-Id")
	late.says(t, "127.0.0.2 for program", "program", call("1"), "Mcp-Session-Id", session)
	response := late.says(t, "initialize a new one", "program", call("1"), "Mcp-Session-Id", "ABC.DEF")
	expect(t, response.StatusCode == http.StatusNotFound, "%s", response.Status)
}

// TestAWatchThatSaysNothing keeps no client from its pod, nor from the next one.
func TestAWatchThatSaysNothing(t *testing.T) {
	c := newCluster(t)
	late := c.deafGateway(nil)
	late.says(t, "127.0.0.2 for alice", "alice", call("1"))
	must(t, c.api.Delete(t.Context(), c.claims()[0].GetName(), metav1.DeleteOptions{}))
	c.pod("127.0.0.2").kill()
	late.pods.CloseIdleConnections() // one may not have heard yet
	late.says(t, "127.0.0.3 for alice", "alice", call("1"))
}

// TestClientsThatNeverWere leave nothing behind.
func TestClientsThatNeverWere(t *testing.T) {
	c := newCluster(t)
	g := c.gateway(func(o *Options) { o.PerSession = true })
	for i := range 20 {
		g.says(t, "initialize a new one", "program", call("1"), "Mcp-Session-Id", fmt.Sprintf("ABC%d.DEF", i))
	}
	g.claims.mu.Lock()
	defer g.claims.mu.Unlock()
	expect(t, len(g.claims.waiting)+len(g.claims.known) == 0, "%d names are kept", len(g.claims.waiting))
}

// TestWhatEndsNoSession ends no pod.
func TestWhatEndsNoSession(t *testing.T) {
	c := newCluster(t)
	g := c.gateway(func(o *Options) { o.PerSession = true })
	g.says(t, "127.0.0.2", "program", call("1"))
	session := g.says(t, "127.0.0.3", "program", initialize).Header.Get("Mcp-Session-Id")
	key, _, _ := strings.Cut(session, ".")
	for _, id := range []string{"", key + ".WRONG"} {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodDelete, g.url+"/mcp", http.NoBody)
		must(t, err)
		r.Header.Set("Authorization", "Bearer program")
		if id != "" {
			r.Header.Set("Mcp-Session-Id", id)
		}
		response, err := http.DefaultTransport.RoundTrip(r)
		must(t, err)
		_ = response.Body.Close()
		expect(t, response.StatusCode >= 400 && len(c.claims()) == 2, "%q: %s, %d claims", id, response.Status, len(c.claims()))
	}
}

// TestWhatHasNoSession makes no pod where it needs one, and is of none where it opens one.
func TestWhatHasNoSession(t *testing.T) {
	c := newCluster(t)
	g := c.gateway(nil)
	for _, request := range []struct {
		method, path, body string
		status             int
	}{
		{http.MethodGet, "/mcp", "", http.StatusMethodNotAllowed},
		{http.MethodDelete, "/mcp", "", http.StatusBadRequest},
		{http.MethodPost, "/message", call("1"), http.StatusNotFound},
		{http.MethodPost, "/mcp", `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}`, http.StatusAccepted},
	} {
		r, err := http.NewRequestWithContext(t.Context(), request.method, g.url+request.path, strings.NewReader(request.body))
		must(t, err)
		r.Header.Set("Authorization", "Bearer alice")
		r.Header.Set("Content-Type", "application/json")
		response, err := http.DefaultTransport.RoundTrip(r)
		must(t, err)
		_ = response.Body.Close()
		expect(t, response.StatusCode == request.status && len(c.claims()) == 0, "%v: %s, %d claims", request, response.Status, len(c.claims()))
	}
	g.says(t, "127.0.0.2 for alice", "alice", initialize, "Mcp-Session-Id", "OF.ANOTHER.TIME")
}

// TestASessionThatWaitedForItsPod has its id: the answer's headers are not sent before it.
func TestASessionThatWaitedForItsPod(t *testing.T) {
	c := newCluster(t)
	c.delay = 1500 * time.Millisecond
	g := c.gateway(func(o *Options) { o.PerSession = true })
	session := g.says(t, "127.0.0.2", "program", initialize).Header.Get("Mcp-Session-Id")
	g.says(t, "127.0.0.2", "program", call("1"), "Mcp-Session-Id", session)
	expect(t, session != "", "a session without an id")
}

// TestAPodThatTookAnothersFirst is given up by the client whose it was to be.
func TestAPodThatTookAnothersFirst(t *testing.T) {
	c := newCluster(t)
	g := c.gateway(nil)
	g.says(t, "127.0.0.2", "alice", call("1"))
	c.settle()
	c.mu.Lock()
	c.reuse = "127.0.0.2"
	c.mu.Unlock()
	g.says(t, "127.0.0.3 for bob", "bob", call("1"))
	expect(t, len(c.pod("127.0.0.2").requests()) == 1, "bob's code reached alice's pod")
}

// TestALeaseThatHasEnded unheard of: its claim is gone, or goes, and no call goes with it.
func TestALeaseThatHasEnded(t *testing.T) {
	for name, end := range map[string]func(c *cluster, claim string){
		"gone": func(c *cluster, claim string) {
			must(c.t, c.api.Delete(c.t.Context(), claim, metav1.DeleteOptions{}))
		},
		"going": func(c *cluster, claim string) {
			object, err := c.api.Get(c.t.Context(), claim, metav1.GetOptions{})
			must(c.t, err)
			now := metav1.Now()
			object.SetDeletionTimestamp(&now)
			_, err = c.api.Update(c.t.Context(), object, metav1.UpdateOptions{})
			must(c.t, err)
			time.AfterFunc(300*time.Millisecond, func() { must(c.t, c.api.Delete(context.Background(), claim, metav1.DeleteOptions{})) })
		},
	} {
		t.Run(name, func(t *testing.T) {
			c := newCluster(t)
			late := c.deafGateway(nil)
			late.says(t, "127.0.0.2 for alice", "alice", call("1"))
			c.settle()
			soon(t, "a renewal takes for ever", func() bool {
				goroutines := make([]byte, 1<<20)
				return !strings.Contains(string(goroutines[:runtime.Stack(goroutines, true)]), "(*Gateway).touch")
			})
			claim := c.claims()[0].GetName()
			now, _ := late.claims.look(claim)
			must(t, late.claims.renew(t.Context(), now, time.Now().Add(time.Second)))
			end(c, claim)
			late.says(t, "127.0.0.3 for alice", "alice", call("1"))
			expect(t, len(c.pod("127.0.0.2").requests()) == 1, "the call went to a pod that ends")
		})
	}
}
