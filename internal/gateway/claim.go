package gateway

import (
	"cmp"
	"fmt"
	"strconv"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
)

// Claims of kubernetes-sigs/agent-sandbox, of which v1beta1 is the stored version since 0.5.
var claimResource = schema.GroupVersionResource{Group: "extensions.agents.x-k8s.io", Version: "v1beta1", Resource: "sandboxclaims"}

const (
	managedByLabel     = "app.kubernetes.io/managed-by"
	managedBy          = "understudy-gateway"
	poolLabel          = "understudy/pool"     // gateways of another pool have leases of their own
	clientAnnotation   = "understudy/client"   // for people: whose the claim is
	instanceAnnotation = "understudy/instance" // which server of the claim's answered last
)

// claim is what a gateway knows of a client's claim.
type claim struct {
	name     string
	uid      types.UID
	version  string    // of the object, as the cluster counts them
	made     time.Time // by this gateway; zero if another made it
	ends     time.Time // of its lease
	ending   bool      // it is being removed, or its lease is over
	heard    bool      // the watch has told of it, and will
	asked    time.Time // when the API last answered how it stands
	ready    bool
	address  string // of its pod; "" while it has none
	instance string // which server answered last; "" where none has
	reason   string // in one word, why it is not ready
	message  string // in a sentence
}

// isOlder reports whether the cluster has said more since: versions count what it has written.
func (c claim) isOlder(than claim) bool {
	mine, err := strconv.ParseUint(c.version, 10, 64)
	if err != nil {
		return false
	}
	other, err := strconv.ParseUint(than.version, 10, 64)
	return err == nil && mine < other
}

// usable reports whether requests may be sent to the claim's pod. One that has answered is
// asked again though it is not ready: it may be at its limits, and code in it runs.
func (c claim) usable() bool {
	return !c.ending && c.address != "" && (c.ready || c.instance != "")
}

// isPodOf reports whether a request to the pod of then is still one to the claim's.
func (c claim) isPodOf(then claim) bool {
	return c.uid == then.uid && c.address == then.address && !c.ending
}

// read returns what the object says.
func read(object *unstructured.Unstructured, now time.Time) claim {
	c := claim{
		name: object.GetName(), uid: object.GetUID(), version: object.GetResourceVersion(),
		ending:   object.GetDeletionTimestamp() != nil,
		instance: object.GetAnnotations()[instanceAnnotation],
	}
	if text, _, _ := unstructured.NestedString(object.Object, "spec", "lifecycle", "shutdownTime"); text != "" {
		c.ends, _ = time.Parse(time.RFC3339, text) // the cluster takes no other
		c.ending = c.ending || now.After(c.ends)
	}
	addresses, _, _ := unstructured.NestedStringSlice(object.Object, "status", "sandbox", "podIPs")
	if len(addresses) > 0 {
		c.address = addresses[0]
	}
	conditions, _, _ := unstructured.NestedSlice(object.Object, "status", "conditions")
	for _, condition := range conditions {
		fields, _ := condition.(map[string]any)
		if fields["type"] != "Ready" {
			continue
		}
		c.ready = fields["status"] == "True"
		c.reason, _ = fields["reason"].(string)
		c.message, _ = fields["message"].(string)
	}
	c.ending = c.ending || c.reason == "ClaimExpired"
	return c
}

// why says why the claim is not ready, as far as the cluster has said.
func (c claim) why() string { return cmp.Or(c.message, c.reason, "the cluster has said nothing yet") }

// trouble is why nothing can be sent to its pod.
func (c claim) trouble() error {
	switch {
	case c.ending:
		return errEnding
	case c.reason == "WarmPoolNotFound", c.reason == "TemplateNotFound": // or not heard of yet, after the API was away
		return fmt.Errorf("%w: %s", errPool, c.why())
	}
	return fmt.Errorf("%w: %s", errNotReady, c.why())
}

// newClaim is the object of a claim that lives until ends unless it is renewed.
func newClaim(name, client, pool string, ends time.Time) *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": claimResource.GroupVersion().String(), "kind": "SandboxClaim",
		"metadata": map[string]any{
			"name": name, "labels": map[string]any{managedByLabel: managedBy, poolLabel: pool},
			"annotations": map[string]any{clientAnnotation: client},
		},
		"spec": map[string]any{
			"warmPoolRef": map[string]any{"name": pool},
			// Retain would keep the claim, and a renewal give it another pod.
			"lifecycle": map[string]any{"shutdownTime": stamp(ends), "shutdownPolicy": "DeleteForeground"},
		},
	}}
}

// stamp is a moment as the cluster writes it, not before t.
func stamp(t time.Time) string {
	return t.Add(time.Second - time.Nanosecond).Truncate(time.Second).UTC().Format(time.RFC3339)
}
