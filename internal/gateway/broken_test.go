package gateway

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/runtime"
	clienttesting "k8s.io/client-go/testing"
)

// soon waits until something is so.
func soon(t *testing.T, what string, so func() bool) {
	t.Helper()
	for began := time.Now(); !so(); time.Sleep(time.Millisecond) {
		insist(t, time.Since(began) < 20*time.Second, "%s", what)
	}
}

// TestANodeThatIsGone takes no connection and refuses none: what waits for one goes to the
// pod that the client has next.
func TestANodeThatIsGone(t *testing.T) {
	c := newCluster(t)
	g := c.gateway(nil)
	var gone, dialed atomic.Bool
	dial := g.pods.DialContext
	g.pods.DialContext = func(ctx context.Context, network, address string) (net.Conn, error) {
		if gone.Load() && strings.HasPrefix(address, "127.0.0.2:") {
			dialed.Store(true)
			<-ctx.Done()
			return nil, ctx.Err()
		}
		return dial(ctx, network, address)
	}
	g.says(t, "127.0.0.2", "alice", call("1"))
	c.settle()
	gone.Store(true)
	c.pod("127.0.0.2").kill()
	g.pods.CloseIdleConnections()
	go func() {
		for !dialed.Load() {
			time.Sleep(time.Millisecond)
		}
		c.set(c.claims()[0].GetName(), c.start(), "", "")
	}()
	g.says(t, "127.0.0.3 for alice", "alice", call("1"))
}

// TestAnAnswerWithoutEnd takes no more of the gateway's memory than there is for one.
func TestAnAnswerWithoutEnd(t *testing.T) {
	for _, code := range []string{"endless text", "endless event"} {
		t.Run(code, func(t *testing.T) {
			c := newCluster(t)
			g := c.gateway(nil)
			g.says(t, "too large", "alice", call(code))
			g.says(t, "127.0.0.2", "alice", call("1"))
			expect(t, g.memory.all == 0 && len(g.memory.of) == 0, "%v", g.memory.of)
		})
	}
}

// TestAnAnswerIsGivenOnce though its pod breaks after it: also one whose id JSON writes in
// two ways.
func TestAnAnswerIsGivenOnce(t *testing.T) {
	c := newCluster(t)
	g := c.gateway(nil)
	g.says(t, "127.0.0.2", "alice", call("1"))
	answered := make(chan string)
	go func() {
		_, text, err := g.post(t.Context(), "alice", strings.Replace(call("answer, then held"), `"id":1`, `"id":"<1>"`, 1))
		answered <- fmt.Sprint(text, err)
	}()
	soon(t, "no call came", func() bool { return len(c.pod("127.0.0.2").requests()) == 2 })
	c.settle()
	c.pod("127.0.0.2").kill()
	c.set(c.claims()[0].GetName(), "", "SandboxNotReady", "gone")
	text := <-answered
	expect(t, strings.Count(text, `"id":`) == 1 && strings.HasSuffix(text, "<nil>"), "%s", text)
}

// TestAServerThatStops says so to whoever has no answer yet.
func TestAServerThatStops(t *testing.T) {
	c := newCluster(t)
	g := c.gateway(nil)
	g.says(t, "127.0.0.2", "alice", call("1"))
	c.mu.Lock()
	c.free = 0
	c.mu.Unlock()
	answers := map[string]chan string{"alice": make(chan string), "bob": make(chan string)}
	for who, answer := range answers {
		go func() {
			_, text, err := g.post(context.Background(), who, call("held"))
			answer <- fmt.Sprint(text, err)
		}()
	}
	soon(t, "nobody waits", func() bool { return len(c.pod("127.0.0.2").requests()) == 2 && len(c.claims()) == 2 })
	g.Interrupt()
	for who, want := range map[string]string{"alice": "is not known", "bob": "Nothing was run"} {
		text := <-answers[who]
		expect(t, strings.Contains(text, "is stopping") && strings.Contains(text, want) && strings.HasSuffix(text, "<nil>"), "%s: %s", who, text)
	}
}

// TestALeaseThatCouldNotBeRenewed is, once the API is back.
func TestALeaseThatCouldNotBeRenewed(t *testing.T) {
	c := newCluster(t)
	var away atomic.Bool
	away.Store(true)
	c.fake.PrependReactor("patch", "*", func(a clienttesting.Action) (bool, runtime.Object, error) {
		isRenewal := strings.Contains(string(a.(clienttesting.PatchAction).GetPatch()), "shutdownTime")
		return isRenewal && away.Load(), nil, errors.New("connection refused")
	})
	g := c.gateway(nil)
	g.says(t, "127.0.0.2", "alice", call("1"))
	away.Store(false)
	soon(t, "the lease is forgotten", func() bool { return time.Until(read(&c.claims()[0], time.Time{}).ends) > time.Hour })
}

// TestCallsOfOneMomentRenewOnce: a lease, and what makes a claim.
func TestCallsOfOneMomentRenewOnce(t *testing.T) {
	c := newCluster(t)
	g := c.gateway(nil)
	failed := make(chan error, 50)
	for range cap(failed) {
		go func() {
			_, _, err := g.post(t.Context(), "alice", call("1"))
			failed <- err
		}()
	}
	for range cap(failed) {
		must(t, <-failed)
	}
	c.settle()
	asked := 0
	for _, action := range c.fake.Actions() {
		if verb := action.GetVerb(); verb == "patch" || verb == "create" || verb == "get" {
			asked++
		}
	}
	expect(t, asked < 8, "the cluster was asked %d times", asked)
}

// TestAPlaceIsKept while its client waits for it.
func TestAPlaceIsKept(t *testing.T) {
	c := newCluster(t)
	c.free = 0
	g := c.gateway(func(o *Options) { o.ClaimWait = 2 * time.Second })
	g.says(t, "No pod became free", "alice", call("1"))
	claim := read(&c.claims()[0], time.Time{})
	must(t, g.claims.renew(t.Context(), claim, time.Now().Add(500*time.Millisecond)))
	g.says(t, "No pod became free", "alice", call("1"))
	expect(t, time.Until(read(&c.claims()[0], time.Time{}).ends) > 30*time.Second, "the claim ends, with its place")
}

// TestAFullClusterCostsNobodyHisLease: what asks for pods again and again leaves room for
// what keeps them.
func TestAFullClusterCostsNobodyHisLease(t *testing.T) {
	var made atomic.Int64
	api := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		switch r.Method {
		case http.MethodPost:
			made.Add(1)
			w.WriteHeader(http.StatusForbidden)
			fmt.Fprint(w, `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"Forbidden","message":"exceeded quota: clients","code":403}`)
		case http.MethodPatch:
			fmt.Fprint(w, `{"kind":"SandboxClaim","apiVersion":"extensions.agents.x-k8s.io/v1beta1","metadata":{"name":"client-1","uid":"1"}}`)
		}
	}))
	defer api.Close()
	dir := t.TempDir()
	kubeconfig, token := filepath.Join(dir, "kubeconfig"), filepath.Join(dir, "token")
	must(t, os.WriteFile(token, []byte(gatewayToken.Token), 0o600))
	must(t, os.WriteFile(kubeconfig, []byte(fmt.Sprintf(`{"clusters":[{"name":"c","cluster":{"server":%q}}],"contexts":[{"name":"c","context":{"cluster":"c"}}],"current-context":"c"}`, api.URL)), 0o600))
	g, err := New(Options{Kubeconfig: kubeconfig, Namespace: poolNamespace, TokenFile: token, Lease: time.Hour, ClaimWait: 30 * time.Second, Logger: slog.New(slog.DiscardHandler)})
	must(t, err)
	ctx, leave := context.WithCancel(t.Context())
	left := make(chan error)
	const clients = 400
	for i := range clients {
		go func() {
			_, err := g.claims.pod(ctx, fmt.Sprint("client-", i), "somebody", true)
			left <- err
		}()
	}
	soon(t, "nobody asks for a pod", func() bool { return made.Load() > fetchRate*3 })
	must(t, g.claims.renew(t.Context(), claim{name: "client-1", uid: "1"}, time.Now().Add(time.Hour)))
	leave()
	for range clients {
		err := <-left
		expect(t, err != nil, "a pod in a full cluster")
	}
}

// TestVersionsOfAClaim: what is older says nothing new.
func TestVersionsOfAClaim(t *testing.T) {
	c := newCluster(t)
	g := c.gateway(nil)
	g.claims.learn(claim{name: "client-1", uid: "2", version: "100", ready: true, address: "127.0.0.3"})
	g.claims.learn(claim{name: "client-1", uid: "1", version: "98", heard: true, address: "127.0.0.2", ending: true})
	g.claims.learn(claim{name: "client-1", uid: "2", version: "99", heard: true})
	now, _ := g.claims.look("client-1")
	expect(t, now.uid == "2" && now.address == "127.0.0.3" && now.heard, "%+v", now)
	g.claims.forget("client-1", "1")
	_, known := g.claims.look("client-1")
	expect(t, known, "a claim was forgotten for another of its name")
}
