package kubernetes

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/mark3labs/mcp-go/client"
	"github.com/mark3labs/mcp-go/client/transport"
	"github.com/mark3labs/mcp-go/mcp"
)

// TestWarmPool has pods that wait for clients, and claims one as a gateway does.
func TestWarmPool(t *testing.T) {
	c := startCluster(t)
	c.loadThinImage(t)
	namespace := c.newNamespace(t, "privileged") // the thin image's pods mount directories of the node
	token := c.applyPool(t, namespace, thinImage, 2)
	pool := c.awaitPods(t, namespace, 2)
	t.Logf("doctor in a pod:\n%s", c.doctor(t, namespace, pool[0].name))

	asked := time.Now()
	address := c.claim(t, namespace, "first")
	ready := time.Since(asked)
	agent := c.connect(t, address, token)
	expect(t, strings.Contains(run(t, agent, "import numpy\nx = 6\nint(numpy.sum([x] * 7))"), "42"), "no answer of 42")
	t.Logf("from the claim to its pod %d ms, to the first answer %d ms", ready.Milliseconds(), time.Since(asked).Milliseconds())
	expect(t, strings.Contains(run(t, agent, "x * 7"), "42"), "the variable is gone")
	c.awaitPods(t, namespace, 3) // the pool is full again

	must(t, c.ask("DELETE", claims(namespace)+"/first", nil, nil))
	for _, left := range c.awaitPods(t, namespace, 2) {
		expect(t, left.address != address, "the pod of the claim is left")
	}
}

// TestFullImage runs the pod as it is shipped, where Pod Security is strictest.
func TestFullImage(t *testing.T) {
	c := startCluster(t)
	c.loadFullImage(t)
	namespace := c.newNamespace(t, "restricted")
	token := c.applyPool(t, namespace, fullImage, 1)
	pool := c.awaitPods(t, namespace, 1)
	t.Logf("doctor in a pod:\n%s", c.doctor(t, namespace, pool[0].name))
	agent := c.connect(t, c.claim(t, namespace, "first"), token)
	said := run(t, agent, "import matplotlib.pyplot as plt, os\nplt.plot([1, 2])\nos.system('echo shell')")
	expect(t, strings.Contains(said, "shell"), "no shell: %s", said)
	log := c.podLog(t, namespace, pool[0].name)
	expect(t, strings.Contains(log, `"layers":["rlimits","uid","landlock","seccomp"]`), "not the layers of a restricted pod:\n%s", log)
}

// TestAPIServerAway: pods go on, and so does everything when it is back.
func TestAPIServerAway(t *testing.T) {
	c := startCluster(t)
	c.loadThinImage(t)
	namespace := c.newNamespace(t, "privileged")
	token := c.applyPool(t, namespace, thinImage, 1)
	pool := c.awaitPods(t, namespace, 1)
	c.stopAPIServer(t)
	said := run(t, c.connect(t, pool[0].address, token), "6 * 7")
	expect(t, strings.Contains(said, "42"), "%s", said)
	expect(t, c.ask("GET", "/readyz", nil, nil) != nil, "the API server is still there")
	c.startAPIServer(t)
	c.deletePod(t, namespace, pool[0].name)
	must(t, c.until("no other pod", func() error {
		if now := c.pods(t, namespace); len(now) != 1 || !now[0].ready || now[0].address == pool[0].address {
			return fmt.Errorf("%+v", now)
		}
		return nil
	}))
}

// TestServiceAccount: a program may do what its account may.
func TestServiceAccount(t *testing.T) {
	c := startCluster(t)
	namespace := c.newNamespace(t, "restricted")
	file := filepath.Join(t.TempDir(), "role.yaml")
	must(t, os.WriteFile(file, []byte(`
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: {name: claims}
rules: [{apiGroups: [extensions.agents.x-k8s.io], resources: [sandboxclaims], verbs: [list]}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: claims}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: claims}
subjects: [{kind: ServiceAccount, name: default}]
`), 0o600))
	c.apply(t, namespace, file)
	own := c.kubeconfigOf(t, namespace, "default")
	must(t, c.until("the role has no effect", func() error {
		_, err := c.tryKubectl("", "--kubeconfig", own, "get", "sandboxclaims")
		return err
	}))
	_, err := c.tryKubectl("", "--kubeconfig", own, "get", "pods")
	expect(t, err != nil && strings.Contains(err.Error(), "Forbidden"), "pods show to it: %v", err)
}

// mount is a directory of the node that a pod sees.
type mount struct{ Name, Path, Source string }

// mountsOf returns what pods with an image need of the node.
func mountsOf(t *testing.T, image string) []mount {
	t.Helper()
	if image != thinImage {
		return nil
	}
	python, err := thePython()
	must(t, err)
	return []mount{{"usr", "/usr", "/usr"}, {"python", pythonInPods, python.environment}, {"installation", python.installation, python.installation}}
}

// applyPool applies a pool of pods and returns a token that they know.
func (c *cluster) applyPool(t *testing.T, namespace, image string, replicas int) (token string) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "tokens")
	said, err := exec.Command(filepath.Join(c.dir, "understudy"), "token", "gateway", "--add-to", file).Output()
	must(t, err)
	lines, err := fill(file, nil)
	must(t, err)
	manifests, err := fill("testdata/pool.yaml", map[string]any{
		"Tokens": strings.ReplaceAll(strings.TrimSpace(string(lines)), "\n", "\n    "),
		"Image":  image, "Mounts": mountsOf(t, image), "Replicas": replicas,
	})
	must(t, err)
	c.applyText(t, namespace, string(manifests))
	return strings.TrimSpace(string(said))
}

func claims(namespace string) string {
	return "/apis/extensions.agents.x-k8s.io/v1beta1/namespaces/" + namespace + "/sandboxclaims"
}

// claim claims a pod and returns its address when it is ready.
func (c *cluster) claim(t *testing.T, namespace, name string) (address string) {
	t.Helper()
	must(t, c.ask("POST", claims(namespace), map[string]any{
		"apiVersion": "extensions.agents.x-k8s.io/v1beta1", "kind": "SandboxClaim",
		"metadata": map[string]any{"name": name},
		"spec": map[string]any{
			"warmPoolRef": map[string]any{"name": "understudy"},
			"lifecycle":   map[string]any{"shutdownPolicy": "DeleteForeground", "shutdownTime": time.Now().Add(time.Hour).UTC().Format(time.RFC3339)},
		},
	}, nil))
	must(t, c.until("the claim is not ready", func() error {
		var now struct {
			Status struct {
				Conditions []condition
				Sandbox    struct{ PodIPs []string }
			}
		}
		if err := c.ask("GET", claims(namespace)+"/"+name, nil, &now); err != nil {
			return err
		}
		if !isTrue(now.Status.Conditions, "Ready") || len(now.Status.Sandbox.PodIPs) == 0 {
			return fmt.Errorf("it says %+v", now.Status)
		}
		address = now.Status.Sandbox.PodIPs[0]
		return nil
	}))
	return address
}

// doctor returns what understudy says of the place that a pod is.
func (c *cluster) doctor(t *testing.T, namespace, pod string) string {
	t.Helper()
	return c.kubectl(t, "exec", "--namespace", namespace, pod, "--", "understudy", "doctor")
}

// connect returns an MCP client of the server at an address.
func (c *cluster) connect(t *testing.T, address, token string) *client.Client {
	t.Helper()
	link, err := transport.NewStreamableHTTP("http://"+address+":8808/mcp",
		transport.WithHTTPHeaders(map[string]string{"Authorization": "Bearer " + token}))
	must(t, err)
	agent := client.NewClient(link)
	t.Cleanup(func() { _ = agent.Close() })
	var hello mcp.InitializeRequest
	hello.Params.ProtocolVersion = mcp.LATEST_PROTOCOL_VERSION
	hello.Params.ClientInfo = mcp.Implementation{Name: t.Name(), Version: "1"}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	must(t, agent.Start(t.Context()))
	_, err = agent.Initialize(ctx, hello)
	must(t, err)
	return agent
}

// run runs code and returns what a model reads.
func run(t *testing.T, agent *client.Client, code string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	var call mcp.CallToolRequest
	call.Params.Name = "run_python_code"
	call.Params.Arguments = map[string]any{"code": code}
	answer, err := agent.CallTool(ctx, call)
	must(t, err)
	var text []string
	for _, content := range answer.Content {
		if words, ok := content.(mcp.TextContent); ok {
			text = append(text, words.Text)
		}
	}
	said := strings.Join(text, "\n")
	insist(t, !answer.IsError && !strings.HasPrefix(said, "[error]"), "an error: %s", said)
	return said
}
