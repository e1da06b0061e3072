package app

import (
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"
	"time"

	"understudy/internal/auth"
	"understudy/internal/config"
	"understudy/internal/transport"
)

type forwarder struct{}

func (forwarder) Forward(http.ResponseWriter, *http.Request, transport.Forwarded) {}

// TestAGatewaySpeaksToServersAlone: the token that opens pods opens no gateway to them,
// though it stood among its clients' tokens.
func TestAGatewaySpeaksToServersAlone(t *testing.T) {
	made, err := auth.Make("gateway", []string{auth.ScopeGateway}, time.Time{})
	must(t, err)
	file := filepath.Join(t.TempDir(), "tokens")
	must(t, os.WriteFile(file, []byte(made.Line+"\n"), 0o600))
	for name, to := range map[string]transport.Forwarder{"server": nil, "gateway": forwarder{}} {
		d, err := openDoor(config.Auth{AuthTokens: file}, slog.New(slog.DiscardHandler))
		must(t, err)
		options := transport.HTTPOptions{Forward: to}
		d.admit(&options)
		r := httptest.NewRequest(http.MethodPost, "/mcp", http.NoBody)
		r.Header.Set("Authorization", "Bearer "+made.Token)
		r.Header.Set(auth.HeaderClient, "alice")
		r.Header.Set(auth.HeaderClaim, "1")
		principal, err := options.Authenticator.Authenticate(r)
		expect(t, (principal == "alice") == (to == nil), "%s: %q, %v", name, principal, err)
	}
}
