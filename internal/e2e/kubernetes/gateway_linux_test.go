package kubernetes

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// TestGateways holds many conversations by the manifests as they are shipped, while what
// they depend on ends.
func TestGateways(t *testing.T) {
	s := install(t)
	t.Run("first answers", s.firstAnswers)
	t.Run("conversations", s.conversations)
	t.Run("a pod with a client", s.beClaimed)
	t.Run("a pod is lost under a call", s.losePod)
	t.Run("the API server is away", s.loseAPI)
}

// firstAnswers times new clients, one after another, from a pool that is full.
func (s *shipped) firstAnswers(t *testing.T) {
	var times []time.Duration
	for i := range 15 {
		must(t, s.until("the pool is not full", func() error { return s.isFull(t) }))
		began := time.Now()
		a := s.agent(t, fmt.Sprintf("client%d", 40+i))
		said, _, _, err := a.call("import numpy\nint(numpy.sum([6] * 7))", nil)
		must(t, err)
		times = append(times, time.Since(began))
		insist(t, strings.Contains(said, "42") && strings.Contains(said, "this pod is yours alone"), "%s", said)
		must(t, s.ask("DELETE", claims(s.namespace)+"/"+s.claimOf(t, a.name), nil, nil))
	}
	slices.Sort(times)
	t.Logf("from a new client's first request to its first answer, 15 times: median %v, worst %v", times[7].Round(time.Millisecond), times[14].Round(time.Millisecond))
}

// isFull is an error unless all pods but the gateways are the pool's, and ready.
func (s *shipped) isFull(t *testing.T) error {
	if all := s.pods(t, s.namespace); len(all) != 5 {
		return fmt.Errorf("%+v", all)
	}
	return s.isReady(t, 2, 3)
}

// runs is an error unless code runs in a pod.
func (s *shipped) runs(address string) error {
	request, err := http.NewRequest(http.MethodGet, "http://"+address+":8808/usage", http.NoBody)
	if err != nil {
		return err
	}
	request.Header.Set("Authorization", "Bearer "+s.podToken)
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	var usage struct{ Running int }
	if err := json.NewDecoder(response.Body).Decode(&usage); err != nil || usage.Running == 0 {
		return fmt.Errorf("%s: %+v, %w", response.Status, usage, err)
	}
	return nil
}

// claimOf returns the name of a client's claim.
func (s *shipped) claimOf(t *testing.T, client string) string {
	t.Helper()
	name, _ := s.claimed(t, client)
	insist(t, name != "", "%s has no claim", client)
	return name
}

// claimed returns the name of a client's claim, and where its pod is.
func (s *shipped) claimed(t *testing.T, client string) (name, address string) {
	t.Helper()
	var list struct {
		Items []struct {
			Metadata struct {
				Name        string
				Annotations map[string]string
			}
			Status struct{ Sandbox struct{ PodIPs []string } }
		}
	}
	must(t, s.ask("GET", claims(s.namespace), nil, &list))
	for _, item := range list.Items {
		if item.Metadata.Annotations["understudy/client"] == client {
			name = item.Metadata.Name
			if len(item.Status.Sandbox.PodIPs) > 0 {
				address = item.Status.Sandbox.PodIPs[0]
			}
		}
	}
	return name, address
}

// conversations has 20 clients make ten calls each, with a figure in each, while the
// gateways are killed in turn. Each keeps its own variables.
func (s *shipped) conversations(t *testing.T) {
	const clients, calls = 20, 10
	agents := make([]*agent, clients)
	var talking sync.WaitGroup
	for i := range agents {
		talking.Go(func() { agents[i] = s.agent(t, fmt.Sprintf("client%d", i)) })
	}
	talking.Wait()
	failed := make(chan error, clients)
	again := make(chan int, clients)
	for _, a := range agents {
		talking.Go(func() {
			tries, err := a.converse(calls)
			again <- tries - calls
			failed <- err
		})
	}
	for _, victim := range s.gateways(t) {
		s.deletePod(t, s.namespace, victim.name)
		must(t, s.until("the gateway is not back", func() error {
			if now := s.gateways(t); len(now) != 2 || slices.Contains(now, victim) {
				return fmt.Errorf("%+v", now)
			}
			return nil
		}))
	}
	sum := 0
	for range agents {
		sum += <-again
		if err := <-failed; err != nil {
			t.Error(err)
		}
	}
	t.Logf("%d conversations of %d calls, both gateways killed meanwhile, %d calls made again", clients, calls, sum)
}

// converse makes calls that build on one another, and returns how many it took.
func (a *agent) converse(calls int) (tries int, err error) {
	for i := range calls {
		code := fmt.Sprintf(`
import matplotlib.pyplot as plt
seen = globals().get("seen", {})
seen[%d] = %q
plt.plot(list(seen)); plt.title("%s, %d")
print(sorted(seen), set(seen.values()))`, i, a.name, a.name, i)
		said, pictures, n, err := a.insistOn(code)
		tries += n
		if err != nil {
			return tries, fmt.Errorf("%s, call %d: %w", a.name, i, err)
		}
		var all []string
		for k := range i + 1 {
			all = append(all, fmt.Sprint(k))
		}
		want := fmt.Sprintf("[%s] {'%s'}", strings.Join(all, ", "), a.name)
		if !strings.Contains(said, want) || pictures != 1 {
			return tries, fmt.Errorf("%s, call %d: %d pictures, not %s in\n%s", a.name, i, pictures, want, said)
		}
	}
	return tries, nil
}

// losePod deletes a client's pod while its code runs.
func (s *shipped) losePod(t *testing.T) {
	a := s.agent(t, "client30")
	_, _, _, err := a.call("x = 6", nil)
	must(t, err)
	type outcome struct {
		said    string
		isError bool
		err     error
	}
	ended := make(chan outcome)
	go func() {
		said, _, isError, err := a.call("import time\nfor i in range(60):\n    time.sleep(1)", nil)
		ended <- outcome{said, isError, err}
	}()
	_, address := s.claimed(t, a.name)
	must(t, s.until("no code runs", func() error { return s.runs(address) }))
	for _, pod := range s.pods(t, s.namespace) {
		if pod.address == address {
			s.deletePod(t, s.namespace, pod.name)
		}
	}
	o := <-ended
	must(t, o.err)
	expect(t, o.isError && strings.Contains(o.said, "The pod that ran this was lost after"), "%s", o.said)
	t.Logf("a call whose pod was deleted: %s", o.said)

	said, _, _, err := a.call("x", nil)
	if err != nil { // its MCP session went with the pod, as the protocol says
		t.Logf("the next call of its session: %v", err)
		must(t, a.greet())
		said, _, _, err = a.call("x", nil)
		must(t, err)
	}
	expect(t, strings.Contains(said, "the pod that you had before is gone") && strings.Contains(said, "NameError"), "%s", said)
	t.Logf("the next answer: %s", said)
}

// loseAPI stops the API server for 20 s: who has a pod goes on, who has none waits.
func (s *shipped) loseAPI(t *testing.T) {
	a := s.agent(t, "client31")
	_, _, _, err := a.call("x = 6", nil)
	must(t, err)
	must(t, s.until("the pool is not full", func() error { return s.isReady(t, 2, 4) }))
	late := s.newAgent(t, "client32")
	s.stopAPIServer(t)
	back := time.After(20 * time.Second)
	newcomer := make(chan error, 1)
	go func() { newcomer <- late.greet() }()
	calls := 0
	for away := true; away; calls++ {
		said, _, _, err := a.call("x += 1; x", nil)
		must(t, err)
		insist(t, strings.Contains(said, fmt.Sprint(7+calls)), "%s", said)
		select {
		case <-back:
			away = false
		case <-time.After(200 * time.Millisecond):
		}
	}
	s.startAPIServer(t)
	must(t, <-newcomer)
	t.Logf("%d calls while the API server was away; a new client was answered once it was back", calls)
}
