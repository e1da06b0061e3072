package auth

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/go-jose/go-jose/v4"
	strict "github.com/go-jose/go-jose/v4/json"
	"github.com/go-jose/go-jose/v4/jwt"
)

// ResourceOptions say whose JWTs are taken. Issuer and Audience are required.
type ResourceOptions struct {
	// Issuer is the exact value of the claim iss, an https URL.
	Issuer string
	// Audience are the names of this server; a token must be for one of them.
	Audience []string
	// Scopes must all be in a token.
	Scopes []string
	// JWKSURL is where the issuer's keys are; "" finds out.
	JWKSURL string
	// PrincipalClaim is the claim that names the caller; "sub".
	PrincipalClaim string
	// PublicURL is how clients reach this server, as https://python.example.org;
	// "" takes what a request says.
	PublicURL string
	Logger    *slog.Logger

	now func() time.Time // for tests; time.Now
}

// Resource is an OAuth 2.1 resource server: it takes the JWTs of one issuer.
type Resource struct {
	options ResourceOptions
	keys    *keySet
	client  interface{ CloseIdleConnections() }
}

// algorithms are those whose keys are public, so that no token can pass that
// was "signed" with a key all the world has, or not at all.
var algorithms = []jose.SignatureAlgorithm{
	jose.RS256, jose.RS384, jose.RS512, jose.PS256, jose.PS384, jose.PS512,
	jose.ES256, jose.ES384, jose.ES512, jose.EdDSA,
}

// leeway is by how much the issuer's clock may differ from ours.
const leeway = 30 * time.Second

// NewResource returns a Resource, which asks the issuer nothing before the
// first token comes. Close ends it.
func NewResource(o ResourceOptions) (*Resource, error) {
	if err := o.check(); err != nil {
		return nil, err
	}
	if o.PrincipalClaim == "" {
		o.PrincipalClaim = "sub"
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.now == nil {
		o.now = time.Now
	}
	client := newClient()
	from := &issuer{url: o.Issuer, jwksURL: o.JWKSURL, client: client}
	return &Resource{options: o, keys: newKeySet(from.keys, o.Logger, o.now), client: client}, nil
}

func (o ResourceOptions) check() error {
	if err := checkURL("auth-issuer", o.Issuer); err != nil {
		return err
	}
	if o.JWKSURL != "" {
		if err := checkURL("auth-jwks-url", o.JWKSURL); err != nil {
			return err
		}
	}
	if err := checkOrigin(o.PublicURL); err != nil {
		return err
	}
	if len(o.Audience) == 0 || slices.Contains(o.Audience, "") {
		return errors.New("auth-audience is needed with auth-issuer: without it a token that was meant for another server would do here")
	}
	return nil
}

// Close ends a fetch of keys that is under way.
func (r *Resource) Close() {
	r.keys.close()
	r.client.CloseIdleConnections()
}

// verify returns the principal that a JWT stands for.
func (r *Resource) verify(ctx context.Context, token string) (string, *Refusal) {
	parsed, err := jwt.ParseSigned(token, algorithms)
	if err != nil || len(parsed.Headers) != 1 || !isAccessToken(parsed.Headers[0]) {
		return "", invalid("the token is neither known here nor an access token that its issuer signed")
	}
	header := parsed.Headers[0]
	keys, err := r.keys.find(ctx, header.KeyID, jose.SignatureAlgorithm(header.Algorithm))
	if err != nil {
		return "", unavailable("the token can't be checked now, as the issuer's keys are not to be had; try again")
	}
	for _, key := range keys {
		var text json.RawMessage
		if err := parsed.Claims(key.Key, &text); err == nil {
			return r.accept(text)
		}
	}
	return "", invalid("the token's signature is not the issuer's")
}

// isAccessToken refuses JWTs that say they are something else, a logout token
// for one. Many issuers say nothing, or JWT.
func isAccessToken(header jose.Header) bool {
	kind, _ := header.ExtraHeaders[jose.HeaderType].(string)
	switch strings.TrimPrefix(strings.ToLower(kind), "application/") {
	case "", "jwt", "at+jwt":
		return true
	}
	return false
}

// accept checks the claims of a token whose signature is good.
func (r *Resource) accept(text json.RawMessage) (string, *Refusal) {
	c, others, err := parseClaims(text)
	if err != nil {
		return "", invalid("the token's claims can't be read")
	}
	if c.Expiry == nil {
		return "", invalid("the token never expires, which is not accepted")
	}
	err = c.ValidateWithLeeway(jwt.Expected{Issuer: r.options.Issuer, AnyAudience: r.options.Audience, Time: r.options.now()}, leeway)
	if err != nil {
		return "", invalid(whyNot(err))
	}
	if has := scopesOf(others); slices.ContainsFunc(r.options.Scopes, func(s string) bool { return !slices.Contains(has, s) }) {
		return "", tooLittle(r.options.Scopes)
	}
	name := textClaim(others, r.options.PrincipalClaim)
	if !isName(name) {
		return "", invalid(fmt.Sprintf("the token's claim %s is no name", r.options.PrincipalClaim))
	}
	return r.options.Issuer + "|" + name, nil
}

// parseClaims reads the claims twice: those that JWT defines, and all by their
// names. encoding/json won't do for an object: it takes "AUD" for "aud" and the
// last of two claims with one name, so that an issuer whose users write claims of
// their own would have them write the real ones. This one takes names as they
// are and refuses duplicates.
func parseClaims(text json.RawMessage) (c jwt.Claims, all map[string]json.RawMessage, err error) {
	if err := strict.Unmarshal(text, &c); err != nil {
		return c, nil, err
	}
	err = strict.Unmarshal(text, &all)
	return c, all, err
}

func whyNot(err error) string {
	switch {
	case errors.Is(err, jwt.ErrInvalidIssuer):
		return "the token is of another issuer"
	case errors.Is(err, jwt.ErrInvalidAudience):
		return "the token is meant for another server"
	case errors.Is(err, jwt.ErrExpired):
		return "the token has expired"
	case errors.Is(err, jwt.ErrNotValidYet), errors.Is(err, jwt.ErrIssuedInTheFuture):
		return "the token is not valid yet"
	default:
		return "the token's claims are not acceptable"
	}
}

// scopesOf reads the scopes, which issuers write in three ways: scope as words
// in one text (RFC 9068), scp as the same, and either as a list.
func scopesOf(claims map[string]json.RawMessage) []string {
	var all []string
	for _, name := range []string{"scope", "scp"} {
		raw := claims[name]
		var text string
		var list []string
		if json.Unmarshal(raw, &text) == nil {
			all = append(all, strings.Fields(text)...)
		} else if json.Unmarshal(raw, &list) == nil {
			all = append(all, list...)
		}
	}
	return all
}

func textClaim(claims map[string]json.RawMessage, name string) string {
	var text string
	_ = json.Unmarshal(claims[name], &text) // what is no text is no name
	return text
}

// isName reports whether text can name a principal in a log and a map.
func isName(text string) bool {
	return text != "" && len(text) <= 256 && !strings.ContainsFunc(text, func(c rune) bool {
		return unicode.IsControl(c) || c == unicode.ReplacementChar
	})
}
