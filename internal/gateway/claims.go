package gateway

import (
	"cmp"
	"context"
	"encoding/json"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/singleflight"
	"golang.org/x/time/rate"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/tools/cache"
)

// claims are the claims of all clients, as the cluster last told of them. While the cluster's
// API is away they stand as they were.
type claims struct {
	api       dynamic.ResourceInterface
	pool      string
	claimWait time.Duration
	log       *slog.Logger
	metrics   *claimMetrics
	informer  cache.SharedInformer

	mu      sync.Mutex
	known   map[string]claim
	waiting map[string]map[chan struct{}]struct{} // for a change of a claim

	fetching, renewing singleflight.Group // by claim
	pace               *rate.Limiter      // of what is fetched
}

func newClaims(api dynamic.ResourceInterface, o Options) *claims {
	c := &claims{
		api: api, pool: o.Pool, claimWait: o.ClaimWait, log: o.Logger, metrics: newClaimMetrics(),
		known: map[string]claim{}, waiting: map[string]map[chan struct{}]struct{}{}, pace: rate.NewLimiter(fetchRate, 2*fetchRate),
	}
	pool := o.Pool
	ours := func(o metav1.ListOptions) metav1.ListOptions {
		o.LabelSelector = managedByLabel + "=" + managedBy + "," + poolLabel + "=" + pool
		return o
	}
	c.informer = cache.NewSharedInformer(&cache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) {
			return api.List(ctx, ours(o))
		},
		WatchFuncWithContext: func(ctx context.Context, o metav1.ListOptions) (watch.Interface, error) {
			return api.Watch(ctx, ours(o))
		},
	}, &unstructured.Unstructured{}, 0)
	_, err := c.informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    c.hear,
		UpdateFunc: func(_, now any) { c.hear(now) },
		DeleteFunc: c.hearEnd,
	})
	if err != nil { // of an informer that was stopped, which this one was not
		panic(err)
	}
	return c
}

// hear takes what the cluster tells of a claim.
func (c *claims) hear(object any) {
	if o, ok := object.(*unstructured.Unstructured); ok {
		now := read(o, time.Now())
		now.heard = true
		c.learn(now)
	}
}

func (c *claims) hearEnd(object any) {
	if last, ok := object.(cache.DeletedFinalStateUnknown); ok {
		object = last.Obj
	}
	o, ok := object.(*unstructured.Unstructured)
	if !ok {
		return
	}
	c.forget(o.GetName(), o.GetUID())
}

// learn keeps what is new of a claim. What the watch tells may be older than what the API
// has answered.
func (c *claims) learn(now claim) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.keep(now)
}

// discover keeps a claim that was made, unless the cluster has told more of it already.
func (c *claims) discover(now claim, made time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if known := c.known[now.name]; known.uid == now.uid {
		now = known
	}
	now.made, now.asked = made, made
	c.keep(now)
}

// keep is learn for a caller who holds mu.
func (c *claims) keep(now claim) {
	before, known := c.known[now.name]
	if known && before.uid == now.uid {
		heard, asked := now.heard || before.heard, now.asked
		if asked.IsZero() {
			asked = before.asked
		}
		if now.isOlder(before) {
			now = before
		}
		now.heard, now.asked = heard, asked
		now.made = cmp.Or(before.made, now.made)
		now.instance = cmp.Or(now.instance, before.instance) // not written down yet
		if before.ready && now.address != before.address && !now.ending {
			c.log.Warn("a client's pod is another now, or gone", "claim", now.name, "reason", now.reason, "message", now.message)
			c.metrics.lost.Inc()
		}
	} else if known && now.isOlder(before) {
		return
	}
	if now.ready && !now.made.IsZero() {
		c.metrics.ready.Observe(time.Since(now.made).Seconds())
		now.made = time.Time{}
	}
	c.known[now.name] = now
	c.tell(now.name)
}

// forget drops a claim that is no more.
func (c *claims) forget(name string, uid types.UID) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.known[name].uid == uid {
		delete(c.known, name)
		c.tell(name)
	}
}

// tell wakes who waits for a change. The caller holds mu.
func (c *claims) tell(name string) {
	for changed := range c.waiting[name] {
		select {
		case changed <- struct{}{}:
		default: // it has not looked since the last one
		}
	}
}

// wait returns what gets a value after each change of a claim until stop is called.
func (c *claims) wait(name string) (changed <-chan struct{}, stop func()) {
	mine := make(chan struct{}, 1)
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.waiting[name] == nil {
		c.waiting[name] = map[chan struct{}]struct{}{}
	}
	c.waiting[name][mine] = struct{}{}
	return mine, func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		if delete(c.waiting[name], mine); len(c.waiting[name]) == 0 {
			delete(c.waiting, name) // clients make names up
		}
	}
}

// look returns what is known of a claim.
func (c *claims) look(name string) (now claim, known bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	now, known = c.known[name]
	return now, known
}

func (c *claims) all() []claim {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Collect(maps.Values(c.known))
}

// follow returns once a request to the claim's pod can't be answered any more, or ctx ends.
func (c *claims) follow(ctx context.Context, then claim) (lost bool) {
	changed, stop := c.wait(then.name)
	defer stop()
	for {
		now, known := c.look(then.name)
		if !known || !now.isPodOf(then) {
			return true
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return false
		}
	}
}

// answered notes which server of the claim's answered, in the claim too: the next one is to
// know that it is another.
func (c *claims) answered(ctx context.Context, by claim, instance string) {
	c.mu.Lock()
	now, known := c.known[by.name]
	isNew := known && now.uid == by.uid && now.instance != instance
	if isNew {
		now.instance = instance
		c.known[by.name] = now
	}
	c.mu.Unlock()
	if !isNew {
		return
	}
	err := c.patch(ctx, by, map[string]any{"metadata": map[string]any{"annotations": map[string]string{instanceAnnotation: instance}}})
	if err != nil {
		c.log.Warn("which server a client has can't be noted; if its pod is lost, the next one won't say so", "claim", by.name, "error", err)
	}
}

// renew has the claim live until then. Who asks for it at the same time waits together.
func (c *claims) renew(ctx context.Context, of claim, until time.Time) error {
	done := c.renewing.DoChan(string(of.uid), func() (any, error) {
		if now, _ := c.look(of.name); now.uid == of.uid && now.ends.Sub(until).Abs() <= time.Second {
			return nil, nil // since right now
		}
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), apiTime)
		defer cancel()
		return nil, c.patch(ctx, of, map[string]any{"spec": map[string]any{"lifecycle": map[string]string{"shutdownTime": stamp(until)}}})
	})
	select {
	case result := <-done:
		return result.Err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// patch changes the claim, and none of its name that came after it.
func (c *claims) patch(ctx context.Context, of claim, change map[string]any) error {
	metadata, _ := change["metadata"].(map[string]any)
	if metadata == nil {
		metadata = map[string]any{}
	}
	metadata["uid"] = of.uid
	change["metadata"] = metadata
	text, err := json.Marshal(change)
	if err != nil {
		return err
	}
	object, err := c.api.Patch(ctx, of.name, types.MergePatchType, text, metav1.PatchOptions{})
	if err != nil {
		return err
	}
	c.learn(read(object, time.Now()))
	return nil
}

// end removes the claim, and none of its name that came after it.
func (c *claims) end(ctx context.Context, of claim) error {
	foreground := metav1.DeletePropagationForeground
	ctx, cancel := context.WithTimeout(ctx, apiTime)
	defer cancel()
	return c.api.Delete(ctx, of.name, metav1.DeleteOptions{PropagationPolicy: &foreground, Preconditions: &metav1.Preconditions{UID: &of.uid}})
}
