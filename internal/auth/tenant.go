package auth

import (
	"fmt"
	"net/http"
	"net/url"
	"sync"
	"time"
)

// The headers in which a gateway says whose request it passes on.
const (
	// HeaderClient is the principal, percent-encoded as in a path.
	HeaderClient = "Understudy-Client"
	// HeaderClaim names the claim by which the client has this server.
	HeaderClaim = "Understudy-Claim"
	// HeaderInstance is which server answered the client last, as far as the gateway
	// knows; in an answer, which one this is.
	HeaderInstance = "Understudy-Instance"
	// HeaderLease is how long this server lives after the client's last call.
	HeaderLease = "Understudy-Lease"
)

// Tenant is the client that this server belongs to, where a gateway gives each client one:
// that of the first claim that comes. Addresses of pods are given out again, so that a
// gateway which has not heard yet may send one client's code to another's pod.
type Tenant struct {
	instance string // of this server

	mu       sync.Mutex
	claim    string // "" until somebody has come
	replaced bool
	lease    time.Duration
}

// NewTenant returns a Tenant of the server that is known by instance, for its first client.
func NewTenant(instance string) *Tenant { return &Tenant{instance: instance} }

// Instance is how this server is known.
func (t *Tenant) Instance() string { return t.instance }

// Lease is how long the server lives after its client's last call, 0 while it is nobody's.
// Replaced says that the client has had another one before, whose state is gone.
func (t *Tenant) Lease() (lease time.Duration, replaced bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.lease, t.replaced
}

// admit returns the principal whose request the gateway passes on.
func (t *Tenant) admit(r *http.Request) (string, *Refusal) {
	claim := r.Header.Get(HeaderClaim)
	principal, err := url.PathUnescape(r.Header.Get(HeaderClient))
	if err != nil || principal == "" || claim == "" {
		return "", &Refusal{
			status: http.StatusBadRequest,
			reason: fmt.Sprintf("a gateway must say whose request it passes on, in the headers %s and %s", HeaderClient, HeaderClaim),
		}
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.claim == "" {
		before := r.Header.Get(HeaderInstance)
		t.claim, t.replaced = claim, before != "" && before != t.instance
		t.lease, _ = time.ParseDuration(r.Header.Get(HeaderLease))
	}
	if t.claim != claim {
		return "", &Refusal{status: http.StatusMisdirectedRequest, reason: "this server belongs to the client of another claim; nothing was done"}
	}
	return principal, nil
}
