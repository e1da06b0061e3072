package kubernetes

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/mark3labs/mcp-go/client"
	"github.com/mark3labs/mcp-go/client/transport"
	"github.com/mark3labs/mcp-go/mcp"
)

// TestGateways holds many conversations by the manifests as they are shipped, while what
// they depend on ends.
func TestGateways(t *testing.T) {
	s := install(t)
	t.Run("first answers", s.firstAnswers)
	t.Run("conversations", s.conversations)
	t.Run("what is no plain call", s.passOn)
	t.Run("a pod with a client", s.beClaimed)
	t.Run("a pod is lost under a call", s.losePod)
	t.Run("the API server is away", s.loseAPI)
	t.Run("leases", s.leases)
	t.Run("first answers without a pool", s.coldAnswers)
}

// firstAnswers times new clients, one after another, from a pool that is full.
func (s *shipped) firstAnswers(t *testing.T) {
	s.timeFirstAnswers(t, 15, 3)
}

// coldAnswers does so where no pod waits.
func (s *shipped) coldAnswers(t *testing.T) {
	s.kubectl(t, "delete", "sandboxwarmpool", "--namespace", s.namespace, "brief")
	s.kubectl(t, "patch", "sandboxwarmpool", "--namespace", s.namespace, "understudy", "--type", "merge", "--patch", `{"spec":{"replicas":0}}`)
	s.kubectl(t, "delete", "sandboxclaims", "--namespace", s.namespace, "--all")
	s.timeFirstAnswers(t, 5, 0)
}

func (s *shipped) timeFirstAnswers(t *testing.T, clients, pool int) {
	t.Helper()
	var times []time.Duration
	for i := range clients {
		must(t, s.until("the pool is not full, or more is there", func() error {
			if all := s.pods(t, s.namespace); len(all) != 2+pool {
				return fmt.Errorf("%+v", all)
			}
			return s.isReady(t, 2, pool)
		}))
		began := time.Now()
		a := s.agent(t, fmt.Sprintf("client%d", 40+i), ways[i%len(ways)])
		r := a.must(t, "import numpy\nint(numpy.sum([6] * 7))")
		times = append(times, time.Since(began))
		insist(t, strings.Contains(r.said, "42") && strings.Contains(r.said, "this pod is yours alone"), "%s", r.said)
		must(t, s.ask("DELETE", claims(s.namespace)+"/"+s.claimOf(t, a.name), nil, nil))
	}
	slices.Sort(times)
	t.Logf("from a new client's first request to its first answer, %d times, %d pods waiting: median %v, worst %v",
		clients, pool, times[clients/2].Round(time.Millisecond), times[clients-1].Round(time.Millisecond))
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
		agents[i] = s.newAgent(t, fmt.Sprintf("client%d", i), ways[i%len(ways)])
		talking.Go(func() {
			if err := agents[i].greet(); err != nil {
				t.Error(err)
			}
		})
	}
	talking.Wait()
	must(t, s.until("not all clients have a pod", func() error { return s.isReady(t, 2, clients+3) }))
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

// converse makes calls that build on one another, and returns how often they were sent.
func (a *agent) converse(calls int) (tries int, err error) {
	for i := range calls {
		code := fmt.Sprintf(`
import matplotlib.pyplot as plt
seen = globals().get("seen", {})
seen[%d] = %q
plt.plot(list(seen)); plt.title("%s, %d")
print(sorted(seen), set(seen.values()))`, i, a.name, a.name, i)
		r, n, err := a.insistOn(code)
		tries += n
		if err != nil {
			return tries, fmt.Errorf("%s (%s), call %d: %w", a.name, a.way.name, i, err)
		}
		var all []string
		for k := range i + 1 {
			all = append(all, fmt.Sprint(k))
		}
		want := fmt.Sprintf("[%s] {'%s'}", strings.Join(all, ", "), a.name)
		if !strings.Contains(r.said, want) || r.pictures != 1 {
			return tries, fmt.Errorf("%s (%s), call %d: %d pictures, not %s in\n%s", a.name, a.way.name, i, r.pictures, want, r.said)
		}
	}
	return tries, nil
}

// passOn has everything through a gateway that is not a plain call.
func (s *shipped) passOn(t *testing.T) {
	for i, by := range ways {
		t.Run(by.name, func(t *testing.T) {
			a := s.agent(t, fmt.Sprintf("client%d", 33+i), by)
			if by.name != "SSE" { // where mcp-go's client says that it can be asked, and doesn't answer
				r := a.must(t, `print("hello", input("Your name? "))`)
				expect(t, strings.Contains(r.said, "hello Ada"), "a question: %s", r.said)
			}
			var told atomic.Int64
			a.client.OnNotification(func(n mcp.JSONRPCNotification) {
				if n.Method == "notifications/progress" {
					told.Add(1)
				}
			})
			var request mcp.CallToolRequest
			request.Params.Name = "run_python_code"
			request.Params.Arguments = map[string]any{"code": "import time\nfor i in range(30):\n    print(i, flush=True); time.sleep(0.1)"}
			request.Params.Meta = &mcp.Meta{ProgressToken: "p"}
			_, err := a.client.CallTool(t.Context(), request)
			must(t, err)
			expect(t, told.Load() > 1, "%d notifications of progress", told.Load())

			listed, err := a.client.ListResources(t.Context(), mcp.ListResourcesRequest{})
			must(t, err)
			expect(t, len(listed.Resources) > 0, "no resources")
			if by.legacy { // whose calls go on without their connection
				return
			}
			ctx, cancel := context.WithCancel(t.Context())
			request.Params.Arguments = map[string]any{"code": "time.sleep(600)"}
			request.Params.Meta = nil
			_, address := s.claimed(t, a.name)
			gone := make(chan struct{})
			go func() {
				defer close(gone)
				_, _ = a.client.CallTool(ctx, request)
			}()
			must(t, s.until("no code runs", func() error { return s.runs(address) }))
			cancel()
			<-gone
			must(t, s.until("a cancel does not reach the pod", func() error {
				if s.runs(address) == nil {
					return errors.New("the code runs on")
				}
				return nil
			}))
		})
	}
}

// losePod deletes a client's pod while its code runs.
func (s *shipped) losePod(t *testing.T) {
	a := s.agent(t, "client30", ways[0])
	a.must(t, "x = 6")
	type outcome struct {
		reply
		err error
	}
	ended := make(chan outcome)
	go func() {
		r, err := a.run("import time\nfor i in range(60):\n    time.sleep(1)")
		ended <- outcome{r, err}
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

	r := a.again(t, "x")
	expect(t, strings.Contains(r.said, "the pod that you had before is gone") && strings.Contains(r.said, "NameError"), "%s", r.said)
	t.Logf("the next answer: %s", r.said)
}

// loseAPI stops the API server for 20 s: who has a pod goes on, who has none waits.
func (s *shipped) loseAPI(t *testing.T) {
	a := s.agent(t, "client31", ways[0])
	a.must(t, "x = 6")
	must(t, s.until("the pool is not full", func() error { return s.isReady(t, 2, 4) }))
	late := s.newAgent(t, "client32", ways[1])
	s.stopAPIServer(t)
	back := time.After(20 * time.Second)
	newcomer := make(chan error, 1)
	go func() { // the controllers find the API again up to half a minute after it is back
		err := late.greet()
		for try := 0; err != nil && try < 3; try++ {
			err = late.greet()
		}
		newcomer <- err
	}()
	calls := 0
	for away := true; away; calls++ {
		r := a.must(t, "x += 1; x")
		insist(t, strings.Contains(r.said, fmt.Sprint(7+calls)), "%s", r.said)
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

// leases has a gateway with short ones: code that runs keeps its pod, and who comes back
// later than that gets another.
func (s *shipped) leases(t *testing.T) {
	const lease = 10 * time.Second
	s.applyText(t, s.namespace, `
apiVersion: extensions.agents.x-k8s.io/v1beta1
kind: SandboxWarmPool
metadata: {name: brief}
spec: {replicas: 1, sandboxTemplateRef: {name: understudy}}
`)
	address := nodeAddress + ":8899"
	overlay := filepath.Join(s.dir, "overlay")
	gateway := exec.Command(filepath.Join(s.dir, "understudy"), "gateway", "--addr", address, "--pool", "brief", "--lease", lease.String(),
		"--kubeconfig", s.kubeconfigOf(t, s.namespace, "understudy-gateway"), "--namespace", s.namespace,
		"--pod-token", filepath.Join(overlay, "token"), "--auth-tokens", filepath.Join(overlay, "clients"))
	var log bytes.Buffer
	gateway.Stderr = &log
	must(t, gateway.Start())
	defer func() {
		must(t, gateway.Process.Signal(os.Interrupt))
		expect(t, gateway.Wait() == nil, "the gateway ended with an error")
		if t.Failed() {
			t.Log(log.String())
		}
	}()
	must(t, s.until("the gateway is not ready", func() error {
		response, err := http.Get("http://" + address + "/readyz")
		if err == nil {
			_ = response.Body.Close()
			if response.StatusCode != http.StatusOK {
				err = errors.New(response.Status)
			}
		}
		return err
	}))
	a := s.newAgent(t, "client36", ways[0])
	a.connect = func() (*client.Client, error) {
		link, err := transport.NewStreamableHTTP("http://"+address+"/mcp", transport.WithHTTPHeaders(bearer(s.tokens["client36"])))
		return client.NewClient(link), err
	}
	must(t, a.greet())
	a.must(t, "x = 6")
	claim := s.claimOf(t, a.name)
	r, err := a.call("run_python_code", map[string]any{"code": "import time\ntime.sleep(25)", "wait": 1})
	must(t, err)
	expect(t, strings.Contains(r.said, "running"), "%s", r.said)
	began := time.Now()
	must(t, s.until("the lease does not end", func() error {
		if s.ask("GET", claims(s.namespace)+"/"+claim, nil, nil) == nil {
			return errors.New("the claim is there")
		}
		return nil
	}))
	// A lease may end up to a second early, as its end is a whole one; the code began before.
	expect(t, time.Since(began) > 23*time.Second+lease, "the lease ended %v after a call whose code ran for 25 s", time.Since(began))
	r = a.again(t, "x")
	expect(t, strings.Contains(r.said, "NameError") && strings.Contains(r.said, "this pod is yours alone; it ends, with its variables and files, 10 seconds after"), "%s", r.said)
	t.Logf("after its lease: %s", r.said)
}
