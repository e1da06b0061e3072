package auth

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"
)

// TestGatewaysSpeakForOneClient of theirs, and nobody else does.
func TestGatewaysSpeakForOneClient(t *testing.T) {
	gateway := made(t, "gateway", []string{ScopeGateway}, time.Time{})
	alice := made(t, "alice", nil, time.Time{})
	g := opened(t, tokenFile(t, gateway.Line, alice.Line), newClock(), &journal{})
	ask := func(token, client, claim, before string) (string, int) {
		r := httptest.NewRequest(http.MethodPost, "/mcp", http.NoBody)
		r.Header.Set("Authorization", "Bearer "+token)
		for name, value := range map[string]string{HeaderClient: client, HeaderClaim: claim, HeaderInstance: before, HeaderLease: "10m"} {
			if value != "" {
				r.Header.Set(name, value)
			}
		}
		principal, err := g.Authenticate(r)
		refusal := &Refusal{status: http.StatusOK}
		_ = errors.As(err, &refusal)
		return principal, refusal.Status()
	}
	check := func(what string, gotName string, gotStatus int, name string, status int) {
		t.Helper()
		expect(t, gotName == name && gotStatus == status, "%s: %q, %d", what, gotName, gotStatus)
	}
	name, status := ask(gateway.Token, "bob", "client-1", "")
	check("a server that is no tenant's lets no gateway in", name, status, "", http.StatusForbidden)

	g.Tenant = NewTenant("two")
	name, status = ask(gateway.Token, "", "client-1", "")
	check("without a client", name, status, "", http.StatusBadRequest)
	name, status = ask(gateway.Token, "bob", "", "")
	check("without a claim", name, status, "", http.StatusBadRequest)
	name, status = ask(gateway.Token, "https:%2F%2Flogin.example.org%7Cb%C3%B6b", "client-1", "one")
	check("the first client", name, status, "https://login.example.org|böb", http.StatusOK)
	lease, replaced := g.Tenant.Lease()
	expect(t, replaced && lease == 10*time.Minute, "that another server was before is not known: %v, %v", replaced, lease)
	name, status = ask(gateway.Token, "carol", "client-2", "")
	check("another claim", name, status, "", http.StatusMisdirectedRequest)
	name, status = ask(alice.Token, "bob", "client-1", "")
	check("a client that says it is a gateway", name, status, "alice", http.StatusOK)

	g.Tenant = NewTenant("two")
	ask(gateway.Token, "bob", "client-1", "two")
	_, replaced = g.Tenant.Lease()
	expect(t, !replaced, "a server took itself for another")
}
