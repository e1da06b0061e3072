package auth

import "net/http"

// GateOptions say who may pass a Gate. One of Tokens and Resource is needed.
type GateOptions struct {
	Tokens   *Tokens   // nil: there is no file
	Resource *Resource // nil: no issuer is trusted
	// Scope is what a token of the file must be good for.
	Scope string
}

// Gate tells who sent a request, by all the ways that are on.
type Gate struct{ options GateOptions }

// NewGate returns a Gate.
func NewGate(options GateOptions) *Gate { return &Gate{options} }

// Authenticate returns the principal who sent the request. Its error is a
// *Refusal.
func (g *Gate) Authenticate(r *http.Request) (principal string, err error) {
	principal, refusal := g.pass(r)
	if refusal != nil {
		return "", refusal.challenged(g.metadataURL(r), g.wanted())
	}
	return principal, nil
}

func (g *Gate) pass(r *http.Request) (string, *Refusal) {
	token, refusal := bearer(r)
	if refusal != nil {
		return "", refusal
	}
	if t := g.options.Tokens; t != nil {
		if known, refusal := t.verify(token, g.options.Scope); known != "" || refusal != nil {
			return known, refusal
		}
	}
	if s := g.options.Resource; s != nil {
		return s.verify(r.Context(), token)
	}
	return "", invalid("the token is not known")
}

func (g *Gate) metadataURL(r *http.Request) string {
	if g.options.Resource == nil {
		return "" // it would send clients to an issuer that there isn't
	}
	return g.options.Resource.metadataURL(r)
}

// wanted are the scopes that a client is told to ask its issuer for.
func (g *Gate) wanted() []string {
	if g.options.Resource == nil {
		return nil
	}
	return g.options.Resource.options.Scopes
}
