package kubernetes

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// waiting is the label of pods that have no client.
const waiting = "agents.x-k8s.io/warm-pool-sandbox"

// beClaimed looks at the pod of a client from outside: a person finds a prompt in it, and a
// drain of its node leaves it alone, but not the pods that wait.
func (s *shipped) beClaimed(t *testing.T) {
	a := s.agent(t, "client37", ways[0])
	a.must(t, "x = 6")
	_, address := s.claimed(t, a.name)
	for _, pod := range s.pods(t, s.namespace) {
		if pod.address != address {
			continue
		}
		said, err := s.tryKubectl("x * 7\n", "exec", "--stdin", "--namespace", s.namespace, pod.name, "--", "understudy", "attach")
		expect(t, err == nil && strings.Contains(said, "42"), "attach says %q, %v", said, err)
		err = s.evict(pod.name)
		expect(t, err != nil && strings.Contains(err.Error(), "disruption budget"), "a pod with a client may be evicted: %v", err)
	}
	names := strings.Fields(s.kubectl(t, "get", "pods", "--namespace", s.namespace, "--selector", waiting, "--output", "jsonpath={.items[*].metadata.name}"))
	insist(t, len(names) > 0, "no pod waits")
	before := s.pods(t, s.namespace)
	must(t, s.evict(names[0]))
	must(t, s.until("the evicted pod is there, which a claim might get", func() error {
		for _, now := range s.pods(t, s.namespace) {
			if !now.ready || now.name == names[0] && slices.Contains(before, now) {
				return fmt.Errorf("%+v", now)
			}
		}
		return nil
	}))
}

// evict asks for the eviction of a pod as a drain of its node does.
func (s *shipped) evict(pod string) error {
	return s.ask("POST", "/api/v1/namespaces/"+s.namespace+"/pods/"+pod+"/eviction", map[string]any{
		"apiVersion": "policy/v1", "kind": "Eviction", "metadata": map[string]any{"name": pod},
	}, nil)
}
