package gateway

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	clienttesting "k8s.io/client-go/testing"
)

func TestMain(m *testing.M) {
	_ = os.Setenv("KUBE_FEATURE_WatchListClient", "false") // which client-go's own fake can't do
	goleak.VerifyTestMain(m, goleak.IgnoreAnyFunction("k8s.io/klog/v2.(*flushDaemon).run.func1"))
}

// held are requests that a pod does not answer until the test says so.
var held = make(chan struct{})

// answerAs is what a pod does: it says who it is, and for whom.
func answerAs(w http.ResponseWriter, r *http.Request, address, principal string) {
	body, _ := io.ReadAll(r.Body)
	who := fmt.Sprintf("%s for %s", address, principal)
	switch {
	case strings.Contains(string(body), "progress, then held"):
		w.Header().Set("Content-Type", "text/event-stream")
		fmt.Fprint(w, "event: message\ndata: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/progress\"}\n\nevent: mess")
		_ = http.NewResponseController(w).Flush()
		<-r.Context().Done()
	case strings.Contains(string(body), "half, then held"):
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprint(w, `{"jsonrpc":"2.0","id":1,"result":{"content":[`)
		_ = http.NewResponseController(w).Flush()
		<-r.Context().Done()
	case strings.Contains(string(body), "answer, then held"):
		w.Header().Set("Content-Type", "text/event-stream")
		fmt.Fprint(w, "event: message\ndata: {\"jsonrpc\":\"2.0\",\"id\":\"\\u003c1\\u003e\",\"result\":{}}\n\nevent: mess")
		_ = http.NewResponseController(w).Flush()
		<-r.Context().Done()
	case strings.Contains(string(body), "endless"):
		if strings.Contains(string(body), "event") {
			w.Header().Set("Content-Type", "text/event-stream")
		}
		for err := error(nil); err == nil; {
			_, err = w.Write(make([]byte, 1<<20))
		}
		return
	case strings.Contains(string(body), "held"):
		select {
		case <-held:
		case <-r.Context().Done():
		}
	case strings.HasSuffix(r.Header.Get("Mcp-Session-Id"), ".WRONG"):
		http.Error(w, "there is no such session", http.StatusNotFound)
		return
	case strings.Contains(string(body), "initialize"):
		w.Header().Set("Mcp-Session-Id", r.Header.Get("Understudy-Session")+".REST")
	}
	w.Header().Set("Content-Type", "application/json")
	fmt.Fprintf(w, `{"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"text","text":%q}]}}`, who)
}

// call is a call of a tool, with the arguments that the pod above knows.
func call(argument string) string {
	return `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"run_python_code","arguments":{"code":"` + argument + `"},"_meta":{"progressToken":7}}}`
}

func (g *testGateway) post(ctx context.Context, principal, body string, headers ...string) (head, string, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, g.url+"/mcp", strings.NewReader(body))
	if err != nil {
		return head{}, "", err
	}
	r.Header.Set("Authorization", "Bearer "+principal)
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "application/json, text/event-stream")
	for i := 0; i < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	response, err := http.DefaultTransport.RoundTrip(r)
	if err != nil {
		return head{}, "", err
	}
	defer func() { _ = response.Body.Close() }()
	text, err := io.ReadAll(response.Body)
	return head{response.Status, response.StatusCode, response.Header}, string(text), err
}

// head is that of an answer.
type head struct {
	Status     string
	StatusCode int
	Header     http.Header
}

// says posts a message that must be answered, with something.
func (g *testGateway) says(t *testing.T, want, principal, body string, headers ...string) head {
	t.Helper()
	response, text, err := g.post(t.Context(), principal, body, headers...)
	must(t, err)
	insist(t, strings.Contains(text, want), "%q said\n%s", want, text)
	return response
}

// TestEachClientHasItsPod, whichever gateway it comes to, and only it.
func TestEachClientHasItsPod(t *testing.T) {
	c := newCluster(t)
	one, two := c.gateway(nil), c.gateway(nil)
	one.says(t, "127.0.0.2 for alice", "alice", call("1"))
	two.says(t, "127.0.0.2 for alice", "alice", call("1"))
	two.says(t, "127.0.0.3 for https://login.example.org/|bob", "https://login.example.org/|bob", call("1"))
	one.says(t, "127.0.0.3 for https://login.example.org/|bob", "https://login.example.org/|bob", call("1"))
	claims := c.claims()
	insist(t, len(claims) == 2, "%d claims", len(claims))
	lifecycle := claims[0].Object["spec"].(map[string]any)["lifecycle"].(map[string]any)
	expect(t, lifecycle["shutdownPolicy"] == "DeleteForeground", "%v", lifecycle)

	seen := c.pod("127.0.0.2").requests()[0]
	for _, name := range []string{"Origin", "Cookie", "X-Forwarded-For"} {
		expect(t, seen.Header.Get(name) == "", "%s reached the pod", name)
	}
	expect(t, seen.Header.Get("Authorization") == "Bearer "+gatewayToken.Token, "the pod got %q", seen.Header.Get("Authorization"))
}

// TestClientsOfOneMomentShareAClaim, though each gateway would make it.
func TestClientsOfOneMomentShareAClaim(t *testing.T) {
	c := newCluster(t)
	gateways := []*testGateway{c.gateway(nil), c.gateway(nil)}
	failed := make(chan error, 20)
	for i := range cap(failed) {
		go func() {
			_, text, err := gateways[i%2].post(t.Context(), "alice", call("1"))
			if err == nil && !strings.Contains(text, "127.0.0.2 for alice") {
				err = errors.New(text)
			}
			failed <- err
		}()
	}
	for range cap(failed) {
		must(t, <-failed)
	}
}

// TestALostPodIsToldOf by the call that ran in it, and by the next.
func TestALostPodIsToldOf(t *testing.T) {
	for _, code := range []string{"held", "half, then held", "progress, then held"} {
		t.Run(code, func(t *testing.T) {
			c := newCluster(t)
			g := c.gateway(nil)
			g.says(t, "127.0.0.2", "alice", call("1"))
			answered := make(chan string)
			go func() {
				_, text, err := g.post(t.Context(), "alice", call(code))
				answered <- fmt.Sprint(text, err)
			}()
			first := c.pod("127.0.0.2")
			for len(first.requests()) < 2 {
				time.Sleep(time.Millisecond)
			}
			c.settle()
			first.kill()
			claim := c.claims()[0].GetName()
			c.set(claim, "", "SandboxNotReady", "the pod is gone")
			text := <-answered
			for _, want := range []string{`"isError":true`, "was lost after", "not known", "next call gets a new pod", "<nil>"} {
				expect(t, strings.Contains(text, want), "%q is not in\n%s", want, text)
			}
			expect(t, strings.Count(text, `"id":1`) == 1 && !strings.Contains(text, "event: mess\n"), "%s", text)

			c.set(claim, c.start(), "", "")
			g.says(t, "127.0.0.3 for alice", "alice", call("1"))
			_, replaced := c.pod("127.0.0.3").tenant.Lease()
			expect(t, replaced, "the new pod was not told that there was another")
		})
	}
}

// TestAnAddressThatIsAnothersNow gets no code of the client's.
func TestAnAddressThatIsAnothersNow(t *testing.T) {
	c := newCluster(t)
	g := c.gateway(nil)
	g.says(t, "127.0.0.2", "alice", call("1"))
	g.says(t, "127.0.0.3", "bob", call("1"))
	c.settle()
	for _, claim := range c.claims() {
		if claim.GetAnnotations()[clientAnnotation] == "bob" {
			c.set(claim.GetName(), "127.0.0.2", "", "") // as if the cluster were late
			time.AfterFunc(time.Second, func() { c.set(claim.GetName(), "127.0.0.3", "", "") })
		}
	}
	g.says(t, "127.0.0.3 for bob", "bob", call("1"))
	expect(t, len(c.pod("127.0.0.2").requests()) == 1, "bob's code reached alice's pod")
}

func TestWaitingForAPod(t *testing.T) {
	t.Run("with progress", func(t *testing.T) {
		c := newCluster(t)
		c.delay = 1500 * time.Millisecond
		g := c.gateway(nil)
		response, text, err := g.post(t.Context(), "alice", call("1"))
		must(t, err)
		for _, want := range []string{`"method":"notifications/progress"`, `"progressToken":7`, "waiting for a pod", "127.0.0.2 for alice"} {
			expect(t, strings.Contains(text, want), "%q is not in\n%s", want, text)
		}
		expect(t, response.Header.Get("Content-Type") == "text/event-stream" && strings.HasSuffix(text, "\n\n"), "%v\n%s", response.Header, text)
	})
	t.Run("in a full cluster", func(t *testing.T) {
		c := newCluster(t)
		c.free = 0
		g := c.gateway(func(o *Options) { o.ClaimWait = 300 * time.Millisecond })
		g.says(t, "Insufficient memory", "alice", call("1"))
		g.says(t, `"isError":true`, "alice", call("1"))
		response := g.says(t, "No pod became free", "alice", `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`)
		expect(t, response.StatusCode == http.StatusServiceUnavailable && response.Header.Get("Retry-After") != "", "%s", response.Status)
	})
	for name, test := range map[string]struct {
		err  error
		want string
	}{
		"beyond a quota": {apierrors.NewForbidden(claimResource.GroupResource(), "client", errors.New("exceeded quota: claims")), "No further client"},
		"without an API": {errors.New("connection refused"), "has not answered"},
	} {
		t.Run(name, func(t *testing.T) {
			c := newCluster(t)
			c.fake.PrependReactor("create", "*", func(clienttesting.Action) (bool, runtime.Object, error) { return true, nil, test.err })
			g := c.gateway(func(o *Options) { o.ClaimWait = 300 * time.Millisecond })
			g.says(t, test.want, "alice", call("1"))
		})
	}
	t.Run("of a pool that there is not", func(t *testing.T) {
		c := newCluster(t)
		c.free = 0
		g := c.gateway(func(o *Options) { o.ClaimWait = time.Second })
		go func() {
			for len(c.claims()) == 0 {
				time.Sleep(time.Millisecond)
			}
			time.Sleep(50 * time.Millisecond) // past what the cluster says by itself
			c.set(c.claims()[0].GetName(), "", "WarmPoolNotFound", "warm pool understudy was not found")
		}()
		g.says(t, "warm pool understudy was not found", "alice", call("1"))
	})
}

// TestLeases are renewed while calls or code need the pod, and not by who only listens.
func TestLeases(t *testing.T) {
	c := newCluster(t)
	g := c.gateway(func(o *Options) { o.Lease = 2 * time.Second })
	g.says(t, "127.0.0.2", "alice", call("1"))
	ends := func() time.Time { return read(&c.claims()[0], time.Time{}).ends }
	until := func(what string, so func() bool) {
		t.Helper()
		for began := time.Now(); !so(); time.Sleep(5 * time.Millisecond) {
			insist(t, time.Since(began) < 20*time.Second, "%s", what)
		}
	}
	until("a first call did not set the lease", func() bool { return time.Until(ends()) < 5*time.Second })
	before := ends()
	done := make(chan struct{})
	go func() {
		defer close(done)
		_, _, _ = g.post(t.Context(), "alice", call("held"))
	}()
	until("a call did not renew the lease", func() bool { return ends().After(before.Add(time.Second)) })
	held <- struct{}{}
	<-done
	c.pod("127.0.0.2").running.Store(1)
	before = ends()
	until("code that runs did not renew the lease", func() bool { return ends().After(before.Add(time.Second)) })
	patches := 0
	for _, action := range c.fake.Actions() {
		if action.GetVerb() == "patch" {
			patches++
		}
	}
	expect(t, patches < 20, "%d changes of one claim in some seconds", patches)
}

// TestSessionsOfTheirOwn have pods by the ids of MCP sessions.
func TestSessionsOfTheirOwn(t *testing.T) {
	c := newCluster(t)
	g := c.gateway(func(o *Options) { o.PerSession = true })
	first := g.says(t, "127.0.0.2", "program", initialize).Header.Get("Mcp-Session-Id")
	second := g.says(t, "127.0.0.3", "program", initialize).Header.Get("Mcp-Session-Id")
	g.says(t, "127.0.0.2", "program", call("1"), "Mcp-Session-Id", first)
	g.says(t, "127.0.0.3", "program", call("1"), "Mcp-Session-Id", second)
	response := g.says(t, "initialize a new one", "program", call("1"), "Mcp-Session-Id", "ABC.DEF")
	expect(t, response.StatusCode == http.StatusNotFound && len(c.claims()) == 2, "%s, %d claims", response.Status, len(c.claims()))
	g.says(t, "initialize a new one", "somebody else", call("1"), "Mcp-Session-Id", first)

	r, err := http.NewRequestWithContext(t.Context(), http.MethodDelete, g.url+"/mcp", http.NoBody)
	must(t, err)
	r.Header.Set("Authorization", "Bearer program")
	r.Header.Set("Mcp-Session-Id", first)
	bye, err := http.DefaultTransport.RoundTrip(r)
	must(t, err)
	_ = bye.Body.Close()
	expect(t, bye.StatusCode == http.StatusOK && len(c.claims()) == 1, "%s, %d claims", bye.Status, len(c.claims()))
}

// TestAStreamEndsWithItsPod, without a word: its client opens another.
func TestAStreamEndsWithItsPod(t *testing.T) {
	c := newCluster(t)
	g := c.gateway(nil)
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, g.url+"/mcp",
		strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"subscriptions/listen","params":{"x":"progress, then held"}}`))
	must(t, err)
	for name, value := range map[string]string{"Authorization": "Bearer alice", "Content-Type": "application/json", "Accept": "text/event-stream"} {
		r.Header.Set(name, value)
	}
	response, err := http.DefaultTransport.RoundTrip(r)
	must(t, err)
	defer func() { _ = response.Body.Close() }()
	events := bufio.NewReader(response.Body)
	_, err = events.ReadString('\n')
	must(t, err)
	c.settle()
	c.pod("127.0.0.2").kill()
	c.set(c.claims()[0].GetName(), "", "SandboxNotReady", "gone")
	rest, err := io.ReadAll(events)
	expect(t, err == nil && !strings.Contains(string(rest), "isError"), "%v: %s", err, rest)
}

func TestMetricsOfClaims(t *testing.T) {
	c := newCluster(t)
	g := c.gateway(nil)
	g.says(t, "127.0.0.2", "alice", call("1"))
	counted := gather(t, g.Gateway)
	expect(t, counted["understudy_claims ready"] == 1 && counted["understudy_claim_ready_seconds"] == 1 && counted["understudy_pods_lost_total"] == 0, "%v", counted)
	c.settle()
	c.set(c.claims()[0].GetName(), "", "SandboxNotReady", "gone")
	for range 1000 {
		if counted = gather(t, g.Gateway); counted["understudy_pods_lost_total"] == 1 {
			break
		}
		time.Sleep(time.Millisecond)
	}
	expect(t, counted["understudy_claims waiting"] == 1 && counted["understudy_pods_lost_total"] == 1, "%v", counted)
}
