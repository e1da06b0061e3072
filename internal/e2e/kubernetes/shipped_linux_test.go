package kubernetes

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/mark3labs/mcp-go/client"
	"github.com/mark3labs/mcp-go/client/transport"
	"github.com/mark3labs/mcp-go/mcp"

	"understudy/internal/auth"
)

// shipped is understudy as its manifests install it, with the image of this test, and
// clients that may come in.
type shipped struct {
	*cluster
	namespace string
	tokens    map[string]string // by client
	podToken  string
	next      atomic.Int64 // which gateway the next connection goes to
}

// install installs it: two gateways and a warm pool of three, ready.
func install(t *testing.T) *shipped {
	t.Helper()
	c := startCluster(t)
	c.loadFullImage(t)
	s := &shipped{cluster: c, namespace: "understudy", tokens: map[string]string{}}
	var clients strings.Builder
	for i := range 60 {
		made, err := auth.Make(fmt.Sprintf("client%d", i), nil, time.Time{})
		must(t, err)
		s.tokens[fmt.Sprintf("client%d", i)] = made.Token
		clients.WriteString(made.Line + "\n")
	}
	pods, err := auth.Make("gateway", []string{auth.ScopeGateway}, time.Time{})
	must(t, err)
	s.podToken = pods.Token
	overlay := filepath.Join(c.dir, "overlay")
	must(t, os.MkdirAll(overlay, 0o755))
	here, err := filepath.Abs(root)
	must(t, err)
	base, err := filepath.Rel(overlay, filepath.Join(here, "deploy", "kubernetes"))
	must(t, err)
	name, tag, _ := strings.Cut(fullImage, ":")
	for file, text := range map[string]string{
		"clients": clients.String(), "token": pods.Token, "tokens": pods.Line + "\n",
		"kustomization.yaml": fmt.Sprintf(`
namespace: %s
resources: [%s]
images: [{name: understudy, newName: %s, newTag: %s}]
generatorOptions: {disableNameSuffixHash: true}
secretGenerator:
- {name: understudy-clients, files: [tokens=clients]}
- {name: understudy-pod-token, files: [token, tokens]}
`, s.namespace, base, name, tag),
	} {
		must(t, os.WriteFile(filepath.Join(overlay, file), []byte(text), 0o600))
	}
	c.apply(t, s.namespace, overlay)
	t.Cleanup(func() {
		if t.Failed() {
			said, _ := c.tryKubectl("", "get", "events,pods,sandboxes,sandboxclaims", "--namespace", s.namespace, "--output", "wide")
			t.Logf("at the end:\n%s", said)
			for _, gateway := range s.gateways(t) {
				t.Logf("%s has logged\n%s", gateway.name, s.podLog(t, s.namespace, gateway.name))
			}
		}
		c.kubectl(t, "delete", "namespace", s.namespace, "--wait=false")
		must(t, c.until("pods are left", func() error {
			if left := c.pods(t, s.namespace); len(left) > 0 {
				return fmt.Errorf("%+v", left)
			}
			return nil
		}))
	})
	must(t, c.until("understudy is not ready", func() error { return s.isReady(t, 2, 3) }))
	return s
}

// isReady is an error unless there are so many ready gateways, and pods of the pool.
func (s *shipped) isReady(t *testing.T, gateways, pool int) error {
	ready := map[bool]int{}
	for _, pod := range s.pods(t, s.namespace) {
		if pod.ready {
			ready[isGateway(pod)]++
		}
	}
	if ready[true] < gateways || ready[false] < pool {
		return fmt.Errorf("%+v", s.pods(t, s.namespace))
	}
	return nil
}

func isGateway(p pod) bool { return strings.HasPrefix(p.name, "understudy-gateway-") }

// gateways are those that are ready: where a Service would lead.
func (s *shipped) gateways(t *testing.T) []pod {
	t.Helper()
	ready, err := s.tryGateways()
	must(t, err)
	return ready
}

func (s *shipped) tryGateways() (ready []pod, err error) {
	all, err := s.tryPods(s.namespace)
	for _, pod := range all {
		if isGateway(pod) && pod.ready {
			ready = append(ready, pod)
		}
	}
	return ready, err
}

// way is how an agent speaks with a gateway.
type way struct {
	name   string
	link   func(token string, over *http.Client) (transport.Interface, error)
	legacy bool
}

func overHTTP(token string, over *http.Client) (transport.Interface, error) {
	return transport.NewStreamableHTTP("http://understudy:8808/mcp", transport.WithHTTPHeaders(bearer(token)), transport.WithHTTPBasicClient(over))
}

func overSSE(token string, over *http.Client) (transport.Interface, error) {
	return transport.NewSSE("http://understudy:8808/sse", transport.WithHeaders(bearer(token)), transport.WithHTTPClient(over))
}

func bearer(token string) map[string]string {
	return map[string]string{"Authorization": "Bearer " + token}
}

var ways = []way{{"modern", overHTTP, false}, {"legacy", overHTTP, true}, {"SSE", overSSE, true}}

// agent is a client of the gateways, which connects anew where its connection breaks.
type agent struct {
	name    string
	way     way
	connect func() (*client.Client, error)
	client  *client.Client
}

// agent connects a client.
func (s *shipped) agent(t *testing.T, name string, by way) *agent {
	t.Helper()
	a := s.newAgent(t, name, by)
	must(t, a.greet())
	return a
}

// newAgent returns an agent that has not said a word yet. Each of its connections goes to
// another gateway; where they are stands as it was known last while the API is away.
func (s *shipped) newAgent(t *testing.T, name string, by way) *agent {
	t.Helper()
	var known atomic.Pointer[[]pod]
	first := s.gateways(t)
	known.Store(&first)
	dial := func(ctx context.Context, network, _ string) (net.Conn, error) {
		to := *known.Load()
		address := net.JoinHostPort(to[int(s.next.Add(1))%len(to)].address, "8808")
		connection, err := (&net.Dialer{Timeout: time.Second}).DialContext(ctx, network, address)
		if err == nil {
			return connection, nil
		}
		if now, failed := s.tryGateways(); failed == nil && len(now) > 0 {
			known.Store(&now)
		}
		return nil, err
	}
	over := &http.Client{Transport: &http.Transport{DialContext: dial, DisableKeepAlives: true}}
	a := &agent{name: name, way: by}
	a.connect = func() (*client.Client, error) {
		link, err := by.link(s.tokens[name], over)
		if err != nil {
			return nil, err
		}
		options := []client.ClientOption{client.WithElicitationHandler(answers{})}
		if by.legacy {
			options = append(options, client.WithLegacyProtocolOnly())
		}
		return client.NewClient(link, options...), nil
	}
	t.Cleanup(func() {
		if a.client != nil {
			_ = a.client.Close()
		}
	})
	return a
}

// answers is a user who answers everything with its name.
type answers struct{}

func (answers) Elicit(context.Context, mcp.ElicitationRequest) (*mcp.ElicitationResult, error) {
	return &mcp.ElicitationResult{ElicitationResponse: mcp.ElicitationResponse{
		Action: mcp.ElicitationResponseActionAccept, Content: map[string]any{"answer": "Ada"},
	}}, nil
}

// patience is what a client has for one answer. Two processors run everything here.
const patience = 2 * time.Minute

// greet connects, or connects anew.
func (a *agent) greet() (err error) {
	if a.client != nil {
		_ = a.client.Close()
	}
	if a.client, err = a.connect(); err != nil {
		return err
	}
	var hello mcp.InitializeRequest
	hello.Params.ProtocolVersion = mcp.LATEST_PROTOCOL_VERSION
	hello.Params.ClientInfo = mcp.Implementation{Name: a.name, Version: "1"}
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	if err := a.client.Start(context.Background()); err != nil {
		return err
	}
	_, err = a.client.Initialize(ctx, hello)
	return err
}

// reply is what a model reads of an answer, with how many pictures.
type reply struct {
	said     string
	pictures int
	isError  bool
}

// call calls a tool.
func (a *agent) call(tool string, arguments map[string]any) (reply, error) {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	var request mcp.CallToolRequest
	request.Params.Name, request.Params.Arguments = tool, arguments
	answer, err := a.client.CallTool(ctx, request)
	if err != nil {
		return reply{}, err
	}
	r := reply{isError: answer.IsError}
	for _, content := range answer.Content {
		switch c := content.(type) {
		case mcp.TextContent:
			r.said += c.Text + "\n"
		case mcp.ImageContent:
			r.pictures++
		}
	}
	return r, nil
}

func (a *agent) run(code string) (reply, error) {
	return a.call("run_python_code", map[string]any{"code": code})
}

// must runs code that is answered.
func (a *agent) must(t *testing.T, code string) reply {
	t.Helper()
	t.Helper()
	r, err := a.run(code)
	must(t, err)
	return r
}

// again runs code after the client's pod has gone, and with it an MCP session of an older
// era: mcp-go's client falls back to one where its pod takes long to come.
func (a *agent) again(t *testing.T, code string) reply {
	t.Helper()
	r, err := a.run(code)
	if err != nil {
		must(t, a.greet())
		r, err = a.run(code)
	}
	must(t, err)
	return r
}

// insistOn runs code until it is answered, and returns how often it was sent. A connection
// breaks with its gateway: what was sent on it is sent again on another, and while the first
// of the two still runs the second is refused.
func (a *agent) insistOn(code string) (r reply, tries int, err error) {
	for tries = 1; tries <= 60; tries++ {
		r, err = a.run(code)
		for err == nil && strings.Contains(r.said, "[running]") {
			r, err = a.call("manage_interpreters", map[string]any{"operation": "wait"})
		}
		switch {
		case err == nil && r.isError && strings.Contains(r.said, "is busy"):
			err = errors.New(r.said)
		case err == nil && r.isError && strings.Contains(r.said, "KeyboardInterrupt"): // the way of the newest era to cancel
			err = errors.New(r.said)
		case err == nil && r.isError:
			return r, tries, errors.New(r.said)
		case err == nil:
			return r, tries, nil
		case a.way.legacy: // its session may have gone with the stream
			_ = a.greet()
		}
		time.Sleep(500 * time.Millisecond) // as a client does
	}
	return r, tries, err
}
