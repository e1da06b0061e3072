package config

import (
	"errors"
	"fmt"
	"net"
)

// Auth are the settings of who may come in over a network, and of who watches.
type Auth struct {
	AuthTokens         string   `type:"path" placeholder:"FILE" group:"Authentication" help:"File of the bearer tokens that let clients in, one line each; \"understudy token\" makes them. It is read again when it changes."`
	AuthIssuer         string   `placeholder:"URL" group:"Authentication" help:"Let clients in with a JWT of this OAuth 2.1 or OpenID Connect issuer, as https://login.example.org. It needs --auth-audience."`
	AuthAudience       []string `placeholder:"NAME,…" group:"Authentication" help:"What a JWT must be meant for (claim aud): this server's address as clients know it, as https://python.example.org/mcp. One of several is enough."`
	AuthScopes         []string `placeholder:"SCOPE,…" group:"Authentication" help:"Scopes that a JWT must have, all of them, separated by commas."`
	AuthJWKSURL        string   `name:"auth-jwks-url" placeholder:"URL" group:"Authentication" help:"Where the issuer's keys are. Default: what the issuer's own metadata says."`
	AuthPrincipalClaim string   `placeholder:"CLAIM" group:"Authentication" default:"sub" help:"Which claim of a JWT names the client, whose interpreters others can't reach. It must be one that the issuer never gives to two, nor to another later."`
	PublicURL          string   `name:"public-url" placeholder:"URL" group:"Authentication" help:"How clients reach this server when a proxy is between, as https://python.example.org. Default: what each request says."`

	MetricsAddr string `placeholder:"HOST:PORT" group:"Operation" help:"Serve /metrics at this address of its own, without authentication, and /healthz and /readyz too. Default: it is served beside MCP, where it needs a token if MCP does."`
}

// Authenticates reports whether clients must say who they are.
func (a Auth) Authenticates() bool { return a.AuthTokens != "" || a.AuthIssuer != "" }

// check reports what contradicts itself; network says that clients connect by
// HTTP or SSE.
func (a Auth) check(network bool) error {
	var errs []error
	if !network && (a.Authenticates() || a.MetricsAddr != "") {
		errs = append(errs, errors.New("auth-tokens, auth-issuer and metrics-addr are for --transport http and sse; a client on stdio is who started the server"))
	}
	if a.AuthIssuer == "" && (len(a.AuthAudience) > 0 || len(a.AuthScopes) > 0 || a.AuthJWKSURL != "") {
		errs = append(errs, errors.New("auth-audience, auth-scopes and auth-jwks-url belong to --auth-issuer, which is not set"))
	}
	if a.AuthIssuer != "" && len(a.AuthAudience) == 0 {
		errs = append(errs, errors.New("auth-issuer needs --auth-audience: without it a token that was meant for another server would do here"))
	}
	if a.MetricsAddr != "" {
		if _, _, err := net.SplitHostPort(a.MetricsAddr); err != nil {
			errs = append(errs, fmt.Errorf("metrics-addr is %q; write host and port, as 127.0.0.1:9090", a.MetricsAddr))
		}
	}
	return errors.Join(errs...)
}

// Token are the arguments and flags of token.
type Token struct {
	Name    string `arg:"" help:"Who the token is for, as alice or ci: its bearer's interpreters belong to this name."`
	AddTo   string `type:"path" placeholder:"FILE" help:"Add the token's line to this file, which is made if it is missing. Default: the line is printed to standard error."`
	For     string `placeholder:"SCOPES" help:"What the token is good for: mcp, metrics or both, separated by a comma; or gateway, for a gateway that passes on to this server what others send. Default: mcp,metrics."`
	Expires string `placeholder:"WHEN" help:"Last day of the token, as 2027-01-31, or how long it is good for, as 90d or 12h. Default: for ever."`
}
