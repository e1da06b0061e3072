package gateway

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/dynamic/fake"
	clienttesting "k8s.io/client-go/testing"

	"understudy/internal/auth"
	"understudy/internal/check"
	"understudy/internal/transport"
)

var must, expect, insist = check.Must, check.Expect, check.Insist

// cluster has claims in memory, and pods that are servers at addresses of this machine's.
type cluster struct {
	t    *testing.T
	api  dynamic.ResourceInterface
	fake *fake.FakeDynamicClient
	port int

	version atomic.Int64

	mu    sync.Mutex
	pods  map[string]*pod // by address
	next  int
	free  int // how many pods a claim may still have
	delay time.Duration
	real  func(net.Listener, *auth.Gate) // what a pod is, if not as answerAs says
	reuse string                         // the address of a pod that the next claim is told to have
}

// pod is a server of one client's.
type pod struct {
	*httptest.Server
	tenant  *auth.Tenant
	running atomic.Int32

	mu   sync.Mutex
	seen []*http.Request
}

const poolNamespace = "agents"

func newCluster(t *testing.T) *cluster {
	client := fake.NewSimpleDynamicClientWithCustomListKinds(runtime.NewScheme(), map[schema.GroupVersionResource]string{claimResource: "SandboxClaimList"})
	c := &cluster{t: t, fake: client, api: client.Resource(claimResource).Namespace(poolNamespace), pods: map[string]*pod{}, free: 10, next: 2}
	client.PrependReactor("create", "*", func(a clienttesting.Action) (bool, runtime.Object, error) {
		object := a.(clienttesting.CreateAction).GetObject().(*unstructured.Unstructured)
		object.SetUID(types.UID(fmt.Sprint("uid-", c.version.Add(1))))
		object.SetResourceVersion(fmt.Sprint(c.version.Load()))
		return false, nil, nil
	})
	client.PrependReactor("patch", "*", c.patch)
	probe, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	c.port = probe.Addr().(*net.TCPAddr).Port
	must(t, probe.Close())
	watcher, err := c.api.Watch(t.Context(), metav1.ListOptions{})
	must(t, err)
	t.Cleanup(watcher.Stop)
	go func() {
		for event := range watcher.ResultChan() {
			object, ok := event.Object.(*unstructured.Unstructured)
			if ok && event.Type == "ADDED" {
				go c.serve(object.GetName())
			}
		}
	}()
	return c
}

// patch is what an API server does with one: its own takes any uid, and counts no versions.
// Reactors run one at a time.
func (c *cluster) patch(a clienttesting.Action) (bool, runtime.Object, error) {
	patch := a.(clienttesting.PatchAction)
	before, err := c.fake.Tracker().Get(claimResource, poolNamespace, patch.GetName())
	if err != nil {
		return true, nil, err
	}
	object, change := before.(*unstructured.Unstructured).DeepCopy(), map[string]any{}
	must(c.t, json.Unmarshal(patch.GetPatch(), &change))
	merge(object.Object, change)
	if object.GetUID() != before.(*unstructured.Unstructured).GetUID() {
		return true, nil, apierrors.NewInvalid(schema.GroupKind{}, patch.GetName(), nil)
	}
	object.SetResourceVersion(fmt.Sprint(c.version.Add(1)))
	return true, object, c.fake.Tracker().Update(claimResource, object, poolNamespace)
}

// merge is a merge patch that removes nothing.
func merge(into, change map[string]any) {
	for name, value := range change {
		inner, isMap := value.(map[string]any)
		before, wasMap := into[name].(map[string]any)
		if isMap && wasMap {
			merge(before, inner)
			continue
		}
		into[name] = value
	}
}

// serve gives a claim a pod, if there is one.
func (c *cluster) serve(name string) {
	c.mu.Lock()
	delay, free, reuse := c.delay, c.free > 0, c.reuse
	c.free--
	c.reuse = ""
	c.mu.Unlock()
	if !free {
		c.set(name, "", "SandboxNotReady", "0/1 nodes are available: 1 Insufficient memory")
		return
	}
	time.Sleep(delay) // what a cluster takes
	if reuse == "" {
		reuse = c.start()
	}
	c.set(name, reuse, "", "")
}

// start starts a pod and returns its address.
func (c *cluster) start() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	address := fmt.Sprintf("127.0.0.%d", c.next)
	c.next++
	p := &pod{tenant: auth.NewTenant("server of " + address)}
	tokens := filepath.Join(c.t.TempDir(), "tokens")
	must(c.t, os.WriteFile(tokens, []byte(gatewayToken.Line+"\n"), 0o600))
	file, err := auth.OpenTokens(tokens, nil)
	must(c.t, err)
	gate := &auth.Gate{Tokens: file, Scope: auth.ScopeMCP, Tenant: p.tenant}
	mux := http.NewServeMux()
	mux.HandleFunc("/usage", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintf(w, `{"running":%d}`, p.running.Load()) })
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		principal, err := gate.Authenticate(r)
		if err != nil {
			http.Error(w, err.Error(), err.(*auth.Refusal).Status())
			return
		}
		p.mu.Lock()
		p.seen = append(p.seen, r)
		p.mu.Unlock()
		w.Header().Set(auth.HeaderInstance, p.tenant.Instance())
		answerAs(w, r, address, principal)
	})
	listener, err := net.Listen("tcp", net.JoinHostPort(address, strconv.Itoa(c.port)))
	must(c.t, err)
	if c.real != nil {
		c.real(listener, gate)
		return address
	}
	p.Server = &httptest.Server{Listener: listener, Config: &http.Server{Handler: mux}}
	p.Start()
	c.t.Cleanup(p.kill)
	c.pods[address] = p
	return address
}

// kill ends the pod and its connections, as a kernel does.
func (p *pod) kill() {
	_ = p.Config.Close()
	p.CloseClientConnections()
}

func (p *pod) requests() []*http.Request {
	p.mu.Lock()
	defer p.mu.Unlock()
	return append([]*http.Request(nil), p.seen...)
}

func (c *cluster) pod(address string) *pod {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.pods[address]
}

// set writes a claim's status; without an address it has no pod.
func (c *cluster) set(name, address, reason, message string) {
	status, addresses := "False", []any{}
	if address != "" {
		status, addresses = "True", []any{address}
	}
	text, err := json.Marshal(map[string]any{"status": map[string]any{
		"sandbox":    map[string]any{"name": "sandbox-1", "podIPs": addresses},
		"conditions": []any{map[string]any{"type": "Ready", "status": status, "reason": reason, "message": message}},
	}})
	must(c.t, err)
	_, err = c.api.Patch(context.Background(), name, types.MergePatchType, text, metav1.PatchOptions{})
	check.Expect(c.t, err == nil || apierrors.IsNotFound(err), "a claim's status: %v", err) // it may have ended
}

// settle waits until gateways have written to all claims what a first call has them write.
func (c *cluster) settle() {
	for began := time.Now(); ; time.Sleep(time.Millisecond) {
		settled := true
		for _, object := range c.claims() {
			claim := read(&object, time.Time{})
			settled = settled && claim.instance != "" && time.Until(claim.ends) > time.Hour
		}
		if settled {
			return
		}
		insist(c.t, time.Since(began) < 20*time.Second, "a first call is not written down")
	}
}

func (c *cluster) claims() []unstructured.Unstructured {
	list, err := c.api.List(context.Background(), metav1.ListOptions{})
	must(c.t, err)
	return list.Items
}

var gatewayToken = func() auth.Made {
	made, err := auth.Make("gateway", []string{auth.ScopeGateway}, time.Time{})
	if err != nil {
		panic(err)
	}
	return made
}()

// gateway is one that runs, and where its clients connect.
type testGateway struct {
	*Gateway
	url string
}

func (c *cluster) gateway(change func(*Options)) *testGateway {
	t := c.t
	file := filepath.Join(t.TempDir(), "token")
	must(t, os.WriteFile(file, []byte(gatewayToken.Token+"\n"), 0o600))
	o := Options{Pool: "understudy", TokenFile: file, Port: c.port, Lease: time.Hour, ClaimWait: 20 * time.Second, Logger: slog.New(slog.DiscardHandler)}
	if change != nil {
		change(&o)
	}
	g, err := newGateway(o, c.api)
	must(t, err)
	ctx, stop := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() { g.Run(ctx) })
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	server := transport.NewHTTP(nil, transport.HTTPOptions{Streamable: true, SSE: true, Authenticator: named{}, Forward: g, StopGrace: time.Millisecond})
	serving, stopServing := context.WithCancel(context.Background())
	running.Go(func() { _ = server.Serve(serving, listener) }) // whose end the test asks for
	t.Cleanup(func() {
		stopServing()
		stop()
		running.Wait()
	})
	return &testGateway{g, "http://" + listener.Addr().String()}
}

// named takes a token for the name of its bearer.
type named struct{}

func (named) Authenticate(r *http.Request) (string, error) {
	return r.Header.Get("Authorization")[len("Bearer "):], nil
}
