package gateway

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
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
	changed map[string]chan struct{} // closed at the next change of the claim
}

func newClaims(api dynamic.ResourceInterface, o Options) *claims {
	c := &claims{
		api: api, pool: o.Pool, claimWait: o.ClaimWait, log: o.Logger, metrics: newClaimMetrics(),
		known: map[string]claim{}, changed: map[string]chan struct{}{},
	}
	ours := func(o metav1.ListOptions) metav1.ListOptions {
		o.LabelSelector = managedByLabel + "=" + managedBy
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
		c.learn(read(o, time.Now()))
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
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.known[o.GetName()].uid == o.GetUID() {
		delete(c.known, o.GetName())
		c.tell(o.GetName())
	}
}

// discover keeps a claim that was made, unless the cluster has told more of it already.
func (c *claims) discover(now claim, made time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if known := c.known[now.name]; known.uid == now.uid {
		now = known
	}
	now.made = made
	c.known[now.name] = now
	c.tell(now.name)
}

// learn keeps what is new of a claim.
func (c *claims) learn(now claim) {
	c.mu.Lock()
	defer c.mu.Unlock()
	before, known := c.known[now.name]
	if known && before.uid == now.uid {
		if now.instance == "" {
			now.instance = before.instance // not written down yet
		}
		now.made = before.made
		if before.ready && now.address != before.address && !now.ending {
			c.log.Warn("a client's pod is another now, or gone", "claim", now.name, "reason", now.reason, "message", now.message)
			c.metrics.lost.Inc()
		}
	}
	if now.ready && !before.ready && !now.made.IsZero() {
		c.metrics.ready.Observe(time.Since(now.made).Seconds())
	}
	c.known[now.name] = now
	c.tell(now.name)
}

// tell wakes who waits for a change. The caller holds mu.
func (c *claims) tell(name string) {
	if changed := c.changed[name]; changed != nil {
		close(changed)
		delete(c.changed, name)
	}
}

// look returns what is known of a claim, and what is closed when it changes.
func (c *claims) look(name string) (now claim, known bool, changed <-chan struct{}) {
	c.mu.Lock()
	defer c.mu.Unlock()
	now, known = c.known[name]
	if c.changed[name] == nil {
		c.changed[name] = make(chan struct{})
	}
	return now, known, c.changed[name]
}

func (c *claims) all() []claim {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Collect(maps.Values(c.known))
}

// errNoClaim says that the client has no claim, and that none was to be made.
var errNoClaim = errors.New("the client has no pod")

// pod waits until the client's claim has a pod, and makes the claim if make is set. Ctx
// bounds the wait; its error says what was waited for.
func (c *claims) pod(ctx context.Context, name, client string, mayMake bool) (claim, error) {
	trouble := error(nil)
	for {
		now, known, changed := c.look(name)
		again := (<-chan time.Time)(nil)
		switch {
		case known && now.usable():
			return now, nil
		case known && now.hopeless():
			return now, fmt.Errorf("%w: %s", errPool, now.why())
		case known && now.ending: // another is made once it is gone
			trouble = errors.New("the client's last pod is still being removed")
			again = time.After(time.Second) // the end of a lease is no event
		case known:
			trouble = fmt.Errorf("%w: %s", errNotReady, now.why())
		case !mayMake:
			return claim{}, errNoClaim
		default:
			if trouble = c.make(ctx, name, client); trouble != nil {
				again = time.After(time.Second)
			}
		}
		select {
		case <-changed:
		case <-again:
		case <-ctx.Done():
			if trouble == nil {
				trouble = fmt.Errorf("%w: %s", errNotReady, now.why())
			}
			return now, trouble
		}
	}
}

// make makes the claim, which lives as long as somebody may wait for it, and is renewed
// once it is used.
func (c *claims) make(ctx context.Context, name, client string) error {
	began := time.Now()
	object, err := c.api.Create(ctx, newClaim(name, client, c.pool, began.Add(c.claimWait+time.Minute)), metav1.CreateOptions{})
	if apierrors.IsAlreadyExists(err) {
		began = time.Time{} // another gateway was first, or this one has not heard of it yet
		object, err = c.api.Get(ctx, name, metav1.GetOptions{})
	}
	switch {
	case err == nil:
		c.discover(read(object, time.Now()), began)
		return nil
	case apierrors.IsNotFound(err): // it has ended since
		return errNotReady
	case apierrors.IsForbidden(err) && strings.Contains(err.Error(), "exceeded quota"):
		return fmt.Errorf("%w: %w", errFull, err)
	}
	c.log.Error("a claim can't be made", "claim", name, "error", err)
	return fmt.Errorf("%w: %w", errCluster, err)
}

// follow returns once a request to the claim's pod can't be answered any more, or ctx ends.
func (c *claims) follow(ctx context.Context, then claim) (lost bool) {
	for {
		now, known, changed := c.look(then.name)
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

// renew has the claim live until then.
func (c *claims) renew(ctx context.Context, of claim, until time.Time) error {
	err := c.patch(ctx, of, map[string]any{"spec": map[string]any{"lifecycle": map[string]string{"shutdownTime": stamp(until)}}})
	if err != nil {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if now := c.known[of.name]; now.uid == of.uid {
		now.ends = until
		c.known[of.name] = now
	}
	return nil
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
	_, err = c.api.Patch(ctx, of.name, types.MergePatchType, text, metav1.PatchOptions{})
	return err
}
