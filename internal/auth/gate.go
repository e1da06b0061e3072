package auth

import "net/http"

// Gate tells who sent a request, by all the ways that are on: one of Tokens and Resource
// is needed.
type Gate struct {
	Tokens   *Tokens   // nil: there is no file
	Resource *Resource // nil: no issuer is trusted
	// Scope is what a token of the file must be good for.
	Scope string
	// Tenant is whom the bearer of a token for ScopeGateway may speak for; nil lets no
	// gateway in.
	Tenant *Tenant
}

// Authenticate returns the principal who sent the request. Its error is a
// *Refusal.
func (g *Gate) Authenticate(r *http.Request) (principal string, err error) {
	principal, refusal := g.pass(r)
	switch {
	case refusal == nil:
		return principal, nil
	case g.Resource == nil: // metadata would send clients to an issuer that there isn't
		return "", refusal.challenged("", nil)
	}
	return "", refusal.challenged(g.Resource.metadataURL(r), g.Resource.options.Scopes)
}

func (g *Gate) pass(r *http.Request) (string, *Refusal) {
	token, refusal := bearer(r)
	if refusal != nil {
		return "", refusal
	}
	if t := g.Tokens; t != nil {
		if g.Tenant != nil {
			if gateway, _ := t.verify(token, ScopeGateway); gateway != "" {
				return g.Tenant.admit(r)
			}
		}
		if known, refusal := t.verify(token, g.Scope); known != "" || refusal != nil {
			return known, refusal
		}
	}
	if s := g.Resource; s != nil {
		return s.verify(r.Context(), token)
	}
	return "", invalid("the token is not known")
}
