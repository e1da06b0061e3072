package kubernetes

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestManifests applies deploy/kubernetes as docs/kubernetes.md says, where Pod Security
// is strictest, and talks with a pod through both gateways.
func TestManifests(t *testing.T) {
	c := startCluster(t)
	c.loadFullImage(t)
	namespace := c.newNamespace(t, "restricted")
	token := c.applyManifests(t, namespace)
	c.kubectl(t, "rollout", "status", "--namespace", namespace, "deployment/understudy-gateway", "--timeout", "2m")
	const waiting = "agents.x-k8s.io/warm-pool-sandbox"
	sessions := c.named(t, namespace, waiting)
	t.Logf("doctor in a pod:\n%s", c.doctor(t, namespace, sessions[0]))

	var gateways []string
	for _, pod := range c.awaitPods(t, namespace, 5) {
		if strings.HasPrefix(pod.name, "understudy-gateway") {
			gateways = append(gateways, pod.address)
		}
	}
	insist(t, len(gateways) == 2, "gateways at %v", gateways)
	expect(t, strings.Contains(run(t, c.connect(t, gateways[0], token), "x = 6\nx * 7"), "42"), "no answer of 42")
	expect(t, strings.Contains(run(t, c.connect(t, gateways[1], token), "x * 7"), "42"), "the other gateway has another pod")

	claimed := c.named(t, namespace, "app.kubernetes.io/component=session,!"+waiting)
	insist(t, len(claimed) == 1, "%v have clients", claimed)
	said, err := c.tryKubectl("x * 7\n", "exec", "--stdin", "--namespace", namespace, claimed[0], "--", "understudy", "attach")
	expect(t, err == nil && strings.Contains(said, "42"), "attach says %q, %v", said, err)
	err = c.evict(namespace, claimed[0])
	expect(t, err != nil && strings.Contains(err.Error(), "disruption budget"), "a pod with a client may be evicted: %v", err)
	must(t, c.evict(namespace, c.named(t, namespace, waiting)[0]))
	c.awaitPods(t, namespace, 6)
}

// applyManifests applies what is shipped with an overlay and Secrets, and returns a
// client's token.
func (c *cluster) applyManifests(t *testing.T, namespace string) (token string) {
	t.Helper()
	dir := t.TempDir()
	shipped, err := filepath.Abs(root + "deploy/kubernetes")
	must(t, err)
	shipped, err = filepath.Rel(dir, shipped)
	must(t, err)
	name, tag, _ := strings.Cut(fullImage, ":")
	overlay := fmt.Sprintf("resources: [%s]\nnamespace: %s\nimages: [{name: understudy, newName: %s, newTag: %s}]\n", shipped, namespace, name, tag)
	must(t, os.WriteFile(filepath.Join(dir, "kustomization.yaml"), []byte(overlay), 0o600))
	c.apply(t, namespace, dir)

	program, keys := filepath.Join(c.dir, "understudy"), t.TempDir()
	script := exec.Command("sh", "-ec", `"$1" token gateway --for gateway --add-to tokens >token; "$1" token alice --add-to clients`, "sh", program)
	script.Dir = keys
	said, err := script.Output()
	must(t, err)
	in := func(key, file string) string { return "--from-file=" + key + "=" + filepath.Join(keys, file) }
	c.kubectl(t, "create", "secret", "generic", "--namespace", namespace, "understudy-pod-token", in("token", "token"), in("tokens", "tokens"))
	c.kubectl(t, "create", "secret", "generic", "--namespace", namespace, "understudy-clients", in("tokens", "clients"))
	return strings.TrimSpace(string(said))
}

// named returns the names of the pods that a selector finds.
func (c *cluster) named(t *testing.T, namespace, selector string) []string {
	t.Helper()
	return strings.Fields(c.kubectl(t, "get", "pods", "--namespace", namespace, "--selector", selector, "--output", "jsonpath={.items[*].metadata.name}"))
}

// evict asks for the eviction of a pod as a drain of its node does.
func (c *cluster) evict(namespace, pod string) error {
	return c.ask("POST", "/api/v1/namespaces/"+namespace+"/pods/"+pod+"/eviction", map[string]any{
		"apiVersion": "policy/v1", "kind": "Eviction", "metadata": map[string]any{"name": pod},
	}, nil)
}
