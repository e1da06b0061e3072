package app

import (
	"errors"
	"log/slog"
	"net/http"

	"understudy/internal/auth"
	"understudy/internal/config"
	"understudy/internal/transport"
)

// door is who may come in over a network.
type door struct {
	tokens   *auth.Tokens   // nil without --auth-tokens
	resource *auth.Resource // nil without --auth-issuer
}

// openDoor reads what the settings name. It returns nil when everybody may
// come in.
func openDoor(c *config.Config, log *slog.Logger) (d *door, err error) {
	s := c.Serve.Auth
	if !s.Authenticates() {
		return nil, nil
	}
	d = &door{}
	if s.AuthTokens != "" {
		if d.tokens, err = auth.OpenTokens(s.AuthTokens, log); err != nil {
			return nil, err
		}
		log.Info("clients come in with a token of the file", "file", s.AuthTokens, "tokens", d.tokens.Count())
	}
	if s.AuthIssuer == "" {
		return d, nil
	}
	d.resource, err = auth.NewResource(auth.ResourceOptions{
		Issuer: s.AuthIssuer, Audience: s.AuthAudience, Scopes: s.AuthScopes, JWKSURL: s.AuthJWKSURL,
		PrincipalClaim: s.AuthPrincipalClaim, PublicURL: s.PublicURL, Logger: log,
	})
	if err != nil {
		return nil, err
	}
	log.Info("clients come in with a token of the issuer", "issuer", s.AuthIssuer)
	return d, nil
}

func (d *door) close() {
	if d != nil && d.resource != nil {
		d.resource.Close()
	}
}

// gate lets in who has a token for scope.
func (d *door) gate(scope string) *auth.Gate {
	return auth.NewGate(auth.GateOptions{Tokens: d.tokens, Resource: d.resource, Scope: scope})
}

// admit has the transport ask who sends a request, and tells clients where
// tokens are to be had.
func (d *door) admit(options *transport.HTTPOptions) {
	if d == nil {
		return
	}
	options.Authenticator = d.gate(auth.ScopeMCP)
	if d.resource == nil {
		return
	}
	var served []string
	if options.Streamable {
		served = append(served, transport.StreamablePath)
	}
	if options.SSE {
		served = append(served, transport.SSEPath)
	}
	for path, handler := range d.resource.Metadata(served) {
		options.Routes[path] = handler
	}
}

// guard lets through who has a token for scope. Without a door it is open.
func (d *door) guard(scope string, next http.Handler) http.Handler {
	if d == nil {
		return next
	}
	gate := d.gate(scope)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, err := gate.Authenticate(r)
		var refusal *auth.Refusal
		switch {
		case err == nil:
			next.ServeHTTP(w, r)
		case errors.As(err, &refusal):
			if challenge := refusal.Challenge(); challenge != "" {
				w.Header().Set("WWW-Authenticate", challenge)
			}
			http.Error(w, refusal.Error(), refusal.Status())
		default: // Authenticate gives no other error
			http.Error(w, "authentication does not work at the moment", http.StatusInternalServerError)
		}
	})
}
