package gateway

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"sync"
	"time"

	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/klog/v2"

	"understudy/internal/reload"
	"understudy/internal/transport"
)

// Options say where the pods are, and what clients get of them.
type Options struct {
	Kubeconfig string // "" is the pod's own account, else what kubectl would take
	Namespace  string // "" is that of the account
	Pool       string // the SandboxWarmPool
	TokenFile  string // has the token that pods know the gateway by
	Port       int    // of MCP in a pod
	// PerSession gives each MCP session and conversation a pod of its own, not each
	// principal.
	PerSession bool
	Lease      time.Duration // of a claim, after its client's last call
	ClaimWait  time.Duration // how long a request waits for its pod
	Logger     *slog.Logger
}

// Gateway has the requests of clients answered in pods of their own.
type Gateway struct {
	options Options
	log     *slog.Logger
	claims  *claims
	pods    *http.Transport
	token   *reload.File[string]
	memory  memory

	stopping  context.Context // ends when what is under way is to be answered
	interrupt context.CancelFunc

	mu    sync.Mutex
	calls map[string]int       // under way, by claim
	owed  map[string]time.Time // until when a lease is to be renewed that could not be, by claim
}

// apiRate is how often the cluster's API is asked for something a second, at most.
const apiRate = 50

// New returns a Gateway of the cluster that the options name. Run follows what happens there.
func New(o Options) (*Gateway, error) {
	rules := clientcmd.NewDefaultClientConfigLoadingRules()
	rules.ExplicitPath = o.Kubeconfig
	cluster := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(rules, &clientcmd.ConfigOverrides{})
	config, err := cluster.ClientConfig()
	if err != nil {
		return nil, fmt.Errorf("finding the cluster: %w; give --kubeconfig, or run in a pod with a service account", err)
	}
	if o.Namespace == "" {
		if o.Namespace, _, err = cluster.Namespace(); err != nil {
			return nil, fmt.Errorf("finding the namespace: %w; give --namespace", err)
		}
	}
	config.UserAgent = managedBy
	config.QPS, config.Burst = apiRate, 2*apiRate // beside what the API server itself allows
	api, err := dynamic.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	klog.SetSlogLogger(o.Logger) // in which client-go tells what goes wrong
	o.Logger.Info("claiming pods", "cluster", config.Host, "namespace", o.Namespace, "pool", o.Pool)
	return newGateway(o, api.Resource(claimResource).Namespace(o.Namespace))
}

func newGateway(o Options, api dynamic.ResourceInterface) (*Gateway, error) {
	g := &Gateway{options: o, log: o.Logger, claims: newClaims(api, o), pods: newPodTransport(), calls: map[string]int{}, owed: map[string]time.Time{}}
	g.memory.of = map[string]int64{}
	g.stopping, g.interrupt = context.WithCancel(context.Background())
	var err error
	g.token, err = reload.Open(o.TokenFile, reload.Options[string]{What: "the token for the pods", Parse: parseToken, Logger: o.Logger})
	if err != nil {
		return nil, fmt.Errorf("pod-token %s: %w", o.TokenFile, err)
	}
	return g, nil
}

// Run follows the claims, and renews what is in use, until ctx ends.
func (g *Gateway) Run(ctx context.Context) {
	var work sync.WaitGroup
	work.Go(func() { g.claims.informer.RunWithContext(ctx) })
	work.Go(func() { g.keep(ctx) })
	<-ctx.Done()
	work.Wait()
	g.pods.CloseIdleConnections()
}

// ServeHTTP answers whether the gateway knows the cluster's claims: 200 or 503.
func (g *Gateway) ServeHTTP(w http.ResponseWriter, _ *http.Request) {
	if !g.claims.informer.HasSynced() {
		http.Error(w, "the cluster has not told of its claims yet", http.StatusServiceUnavailable)
		return
	}
	_, _ = w.Write([]byte("ok\n"))
}

// client is whom a pod is for.
type client struct {
	claim     string
	principal string
	session   string // what ids of its MCP sessions begin with, "" for nothing
}

// clientOf returns whose a request is; false for somebody who can't be found again.
func (g *Gateway) clientOf(f transport.Forwarded) (client, bool) {
	c, key := client{principal: f.Caller.Principal}, f.Caller.Principal
	if g.options.PerSession {
		switch {
		case f.SessionKey != "":
			c.session = f.SessionKey
			key += "\x00session\x00" + f.SessionKey
		case f.Caller.Conversation != "":
			key += "\x00conversation\x00" + f.Caller.Conversation
		}
	}
	hash := sha256.Sum256([]byte(g.options.Pool + "\x00" + key))
	c.claim = "client-" + hex.EncodeToString(hash[:16])
	if c.principal == "" {
		c.principal = "anonymous" // a pod of its own all the same
	}
	return c, key != ""
}

// Forward has a request answered by its client's pod.
func (g *Gateway) Forward(w http.ResponseWriter, r *http.Request, f transport.Forwarded) {
	c, ok := g.clientOf(f)
	if !ok {
		http.Error(w, "without a token only MCP sessions have a pod; initialize one and send its Mcp-Session-Id, or send a token", http.StatusBadRequest)
		return
	}
	if !f.IsStream {
		defer g.begin(c.claim)()
	}
	ctx, cancel := context.WithCancelCause(r.Context())
	defer cancel(nil)
	defer context.AfterFunc(g.stopping, func() { cancel(errStopping) })()
	a := newReply(w, r, f)
	err := g.answer(r.WithContext(ctx), c, a)
	if err != nil && errors.Is(context.Cause(ctx), errStopping) {
		err = fmt.Errorf("%w: %w", errStopping, err)
	}
	switch {
	case err == nil:
	case r.Context().Err() == nil:
		g.log.Warn("a request was not answered by its pod", "client", c.principal, "claim", c.claim, "method", f.Method, "error", err)
		a.refuse(err)
	case f.IsStream && a.status == 0: // the server stops, or nobody is there to read it
		a.refuse(err)
	}
	if r.Method == http.MethodDelete && c.session != "" && a.status == http.StatusOK {
		g.release(c)
	}
}

// Interrupt has all requests answered that have no answer yet.
func (g *Gateway) Interrupt() { g.interrupt() }

// begin counts a call of the claim's until end is called.
func (g *Gateway) begin(claim string) (end func()) {
	g.count(claim, 1)
	return func() { g.count(claim, -1) }
}

func (g *Gateway) count(claim string, more int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.calls[claim] += more; g.calls[claim] == 0 {
		delete(g.calls, claim)
	}
}

// sendAgain is after how long a pod that took no request is tried again.
const sendAgain = 200 * time.Millisecond

// answer has a request answered by the client's pod, for which it waits. What was not sent
// is sent again; what a pod may have begun is not.
func (g *Gateway) answer(r *http.Request, c client, a *reply) error {
	waiting, cancel := context.WithTimeout(r.Context(), g.options.ClaimWait)
	defer cancel()
	stop := a.tellWaiting(waiting, func() string { now, _ := g.claims.look(c.claim); return now.why() })
	defer func() { stop() }()
	for tries := 1; ; tries++ {
		to, err := g.claims.pod(waiting, c.claim, c.principal, !a.f.InSession)
		if err != nil {
			return err
		}
		if !a.f.IsStream || !a.f.InSession { // who only listens, again and again, needs no pod
			g.touch(r.Context(), to)
		}
		if now, known := g.claims.look(c.claim); !known || !now.isPodOf(to) { // it was too late for that
			continue
		}
		err = g.exchange(r, c, to, a, stop)
		if !errors.Is(err, errNotSent) {
			if !a.f.IsStream {
				g.touch(context.WithoutCancel(r.Context()), to)
			}
			return err
		}
		if tries%doubtAfter == 0 {
			g.doubt(waiting, c, to, err)
		}
		select {
		case <-time.After(sendAgain):
		case <-waiting.Done():
			return err
		}
	}
}

// doubtAfter is how often a pod may take no request before the cluster is asked about it.
const doubtAfter = 5

// doubt asks the API about a claim whose pod takes no requests, as the watch may be late.
// The pod of a claim that nobody has used yet may belong to another's for good: it had the
// address of that one's pod when a gateway which did not know of it sent a request there.
// Such a claim is given up for a new one.
func (g *Gateway) doubt(ctx context.Context, c client, of claim, why error) {
	if g.claims.fetch(ctx, c.claim, c.principal, false) != nil {
		return
	}
	now, _ := g.claims.look(c.claim)
	if !errors.Is(why, errOthers) || now.instance != "" || !now.isPodOf(of) {
		return
	}
	g.log.Warn("a pod belongs to another claim; this one is given up", "client", c.principal, "claim", c.claim, "address", of.address)
	if err := g.claims.end(ctx, now); err != nil {
		g.log.Warn("a claim can't be given up", "claim", c.claim, "error", err)
	}
}

// exchange sends a request to a pod and passes the answer on. Heard is called once the pod
// answers.
func (g *Gateway) exchange(r *http.Request, c client, to claim, a *reply, heard func()) error {
	ctx, cancel := context.WithCancelCause(r.Context())
	defer cancel(nil)
	go func() {
		if g.claims.follow(ctx, to) {
			cancel(errLost)
		}
	}()
	response, err := g.send(ctx, c, to, r, a.f)
	if err == nil {
		defer func() { _ = response.Body.Close() }()
		heard()
		g.note(to, response)
		err = a.pass(response, &g.memory, to.name)
	}
	switch {
	case err == nil, errors.Is(err, errNotSent), errors.Is(err, errTrust), errors.Is(err, errLarge), r.Context().Err() != nil:
		return err
	case context.Cause(ctx) == nil: // a pod's connections may break before the cluster says that it is gone
		select {
		case <-ctx.Done():
		case <-time.After(lostPatience):
		}
	}
	if errors.Is(context.Cause(ctx), errLost) {
		return fmt.Errorf("%w: %w", errLost, err)
	}
	return err
}

// lostPatience is how long the cluster may take to tell of the end of a pod whose connections
// have broken: one that was deleted by force it told of in 0.1 s.
const lostPatience = 2 * time.Second

// release ends the claim of a client that has said goodbye.
func (g *Gateway) release(c client) {
	of, known := g.claims.look(c.claim)
	if !known {
		return
	}
	if err := g.claims.end(context.Background(), of); err != nil {
		g.log.Info("a claim can't be ended; its lease will end it", "claim", c.claim, "error", err)
	}
}
