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

// agent is a client of the gateways.
type agent struct {
	*client.Client
	name string
}

// agent connects a client, each of whose connections goes to another gateway.
func (s *shipped) agent(t *testing.T, name string) *agent {
	t.Helper()
	a := s.newAgent(t, name)
	must(t, a.greet())
	return a
}

func (s *shipped) newAgent(t *testing.T, name string) *agent {
	t.Helper()
	// What is known now stands while the API is away.
	var known atomic.Pointer[[]pod]
	first := s.gateways(t)
	known.Store(&first)
	dial := func(ctx context.Context, network, _ string) (net.Conn, error) {
		if now, err := s.tryGateways(); err == nil && len(now) > 0 {
			known.Store(&now)
		}
		to := *known.Load()
		return (&net.Dialer{Timeout: 2 * time.Second}).DialContext(ctx, network, net.JoinHostPort(to[int(s.next.Add(1))%len(to)].address, "8808"))
	}
	link, err := transport.NewStreamableHTTP("http://understudy:8808/mcp",
		transport.WithHTTPHeaders(map[string]string{"Authorization": "Bearer " + s.tokens[name]}),
		transport.WithHTTPBasicClient(&http.Client{Transport: &http.Transport{DialContext: dial, DisableKeepAlives: true}}))
	must(t, err)
	a := &agent{client.NewClient(link), name}
	t.Cleanup(func() { _ = a.Close() })
	must(t, a.Start(t.Context()))
	return a
}

func (a *agent) greet() error {
	var hello mcp.InitializeRequest
	hello.Params.ProtocolVersion = mcp.LATEST_PROTOCOL_VERSION
	hello.Params.ClientInfo = mcp.Implementation{Name: a.name, Version: "1"}
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	_, err := a.Initialize(ctx, hello)
	return err
}

// call runs code, and returns what a model reads, with how many pictures.
func (a *agent) call(code string, more map[string]any) (said string, pictures int, isError bool, err error) {
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	var request mcp.CallToolRequest
	request.Params.Name = "run_python_code"
	arguments := map[string]any{"code": code}
	for name, value := range more {
		arguments[name] = value
	}
	request.Params.Arguments = arguments
	answer, err := a.CallTool(ctx, request)
	if err != nil {
		return "", 0, false, err
	}
	var text []string
	for _, content := range answer.Content {
		switch c := content.(type) {
		case mcp.TextContent:
			text = append(text, c.Text)
		case mcp.ImageContent:
			pictures++
		}
	}
	return strings.Join(text, "\n"), pictures, answer.IsError, nil
}

// insistOn runs code until it is answered: a connection may break with its gateway, and
// what was said on it is said again on another.
func (a *agent) insistOn(code string) (said string, pictures, tries int, err error) {
	for tries = 1; tries <= 20; tries++ {
		var isError bool
		if said, pictures, isError, err = a.call(code, nil); err == nil {
			if isError {
				err = errors.New(said)
			}
			return said, pictures, tries, err
		}
		time.Sleep(200 * time.Millisecond) // as a client does
	}
	return said, pictures, tries, err
}
