package kubernetes

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
)

// kubectl runs kubectl as an administrator and returns what it prints. It must not fail.
func (c *cluster) kubectl(t *testing.T, args ...string) string {
	t.Helper()
	said, err := c.tryKubectl("", args...)
	must(t, err)
	return said
}

// tryKubectl runs kubectl with a standard input, and may fail.
func (c *cluster) tryKubectl(input string, args ...string) (string, error) {
	cmd := exec.Command(filepath.Join(c.programs, "testcluster"), append([]string{"kubectl", "--kubeconfig", c.kubeconfig}, args...)...)
	cmd.Env = append(os.Environ(), "KUBECACHEDIR="+filepath.Join(c.dir, "kubectl"))
	var stdout, stderr bytes.Buffer
	cmd.Stdin, cmd.Stdout, cmd.Stderr = strings.NewReader(input), &stdout, &stderr
	if err := cmd.Run(); err != nil {
		return stdout.String(), fmt.Errorf("kubectl %s: %w\n%s%s", strings.Join(args, " "), err, stdout.String(), stderr.String())
	}
	return stdout.String(), nil
}

// apply applies a file, or a directory with a kustomization.
func (c *cluster) apply(t *testing.T, namespace, path string) {
	t.Helper()
	info, err := os.Stat(path)
	must(t, err)
	option := "--filename"
	if info.IsDir() {
		option = "--kustomize"
	}
	c.kubectl(t, "apply", "--namespace", namespace, option, path)
}

// applyText applies manifests that are given as text.
func (c *cluster) applyText(t *testing.T, namespace, manifests string) {
	t.Helper()
	_, err := c.tryKubectl(manifests, "apply", "--namespace", namespace, "--filename", "-")
	must(t, err)
}

var namespaces atomic.Int64

// newNamespace makes a namespace that enforces a level of Pod Security: privileged,
// baseline or restricted. It ends with the test, with all in it.
func (c *cluster) newNamespace(t *testing.T, level string) string {
	t.Helper()
	name := fmt.Sprint("test-", namespaces.Add(1))
	c.applyText(t, name, fmt.Sprintf(`{apiVersion: v1, kind: Namespace, metadata: {name: %s, labels: {pod-security.kubernetes.io/enforce: %s}}}`, name, level))
	t.Cleanup(func() {
		if t.Failed() {
			said, _ := c.tryKubectl("", "get", "events,pods,sandboxes,sandboxclaims", "--namespace", name, "--output", "wide")
			t.Logf("the namespace %s at the end:\n%s", name, said)
		}
		c.kubectl(t, "delete", "namespace", name, "--wait=false")
		must(t, c.until("pods are left in the namespace", func() error {
			if left := c.pods(t, name); len(left) > 0 {
				return fmt.Errorf("%+v", left)
			}
			return nil
		}))
	})
	// Pods are refused until it is there.
	must(t, c.until("no service account", func() error {
		return c.ask("GET", "/api/v1/namespaces/"+name+"/serviceaccounts/default", nil, nil)
	}))
	return name
}

// pod is what tests want to know of one.
type pod struct {
	name, address, phase string
	ready                bool
}

func (c *cluster) pods(t *testing.T, namespace string) []pod {
	t.Helper()
	all, err := c.tryPods(namespace)
	must(t, err)
	return all
}

func (c *cluster) tryPods(namespace string) (all []pod, err error) {
	var list struct {
		Items []struct {
			Metadata struct{ Name string }
			Status   struct {
				Phase, PodIP string
				Conditions   []condition
			}
		}
	}
	err = c.ask("GET", "/api/v1/namespaces/"+namespace+"/pods", nil, &list)
	for _, item := range list.Items {
		all = append(all, pod{item.Metadata.Name, item.Status.PodIP, item.Status.Phase, isTrue(item.Status.Conditions, "Ready")})
	}
	return all, err
}

// awaitPods waits until a namespace has so many ready pods, and no others.
func (c *cluster) awaitPods(t *testing.T, namespace string, number int) []pod {
	t.Helper()
	var all []pod
	must(t, c.until("the pods are not ready", func() error {
		all = c.pods(t, namespace)
		for _, pod := range all {
			if !pod.ready {
				return fmt.Errorf("of %+v", all)
			}
		}
		if len(all) != number {
			return fmt.Errorf("%d instead of %d: %+v", len(all), number, all)
		}
		return nil
	}))
	return all
}

// podLog returns what a pod has logged.
func (c *cluster) podLog(t *testing.T, namespace, name string) string {
	t.Helper()
	return c.kubectl(t, "logs", "--namespace", namespace, name)
}

// deletePod deletes a pod by force: nothing in it is asked to end well.
func (c *cluster) deletePod(t *testing.T, namespace, name string) {
	t.Helper()
	c.kubectl(t, "delete", "pod", "--namespace", namespace, name, "--grace-period=0", "--force", "--wait=false")
}

// kubeconfigOf returns the path of a kubeconfig with the rights of a service account,
// valid for an hour.
func (c *cluster) kubeconfigOf(t *testing.T, namespace, account string) string {
	t.Helper()
	token := strings.TrimSpace(c.kubectl(t, "create", "token", "--namespace", namespace, account))
	path, err := c.identities.writeKubeconfig(namespace+"-"+account, token, namespace)
	must(t, err)
	return path
}

// stopAPIServer kills the API server; startAPIServer starts it again and waits
// until it is ready. A test that stops it has it started again.
func (c *cluster) stopAPIServer(t *testing.T) {
	t.Helper()
	must(t, c.parts["kube-apiserver"].stop())
}

func (c *cluster) startAPIServer(t *testing.T) {
	t.Helper()
	must(t, c.parts["kube-apiserver"].start())
	must(t, c.awaitAPIServer())
}
