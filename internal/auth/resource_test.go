package auth

import (
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"maps"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"
)

const audience = "https://python.example.org/mcp"

// resource returns a Resource that trusts i.
func (i *testIssuer) resource(c *clock, change func(*ResourceOptions)) *Resource {
	i.t.Helper()
	o := ResourceOptions{Issuer: i.URL, Audience: []string{audience}, now: c.time}
	if change != nil {
		change(&o)
	}
	r, err := NewResource(o)
	must(i.t, err)
	i.t.Cleanup(r.Close)
	return r
}

// claims are those of a good token, changed as said; nil removes one.
func (i *testIssuer) claims(c *clock, change map[string]any) map[string]any {
	now := c.time().Unix()
	all := map[string]any{"iss": i.URL, "aud": audience, "sub": "alice", "iat": now, "nbf": now, "exp": now + 600, "scope": "openid python"}
	maps.Copy(all, change)
	maps.DeleteFunc(all, func(_ string, v any) bool { return v == nil })
	return all
}

// show sends a token and returns who it is of, or the refusal.
func show(t *testing.T, g *Gate, token string) (string, *Refusal) {
	t.Helper()
	return send(t, g, func(r *http.Request) { r.Header.Set("Authorization", "Bearer "+token) })
}

func send(t *testing.T, g *Gate, change func(*http.Request)) (string, *Refusal) {
	t.Helper()
	r := httptest.NewRequest(http.MethodPost, "http://127.0.0.1:8808/mcp", http.NoBody)
	change(r)
	principal, err := g.Authenticate(r)
	if err == nil {
		return principal, nil
	}
	refusal, ok := err.(*Refusal)
	insist(t, ok && principal == "", "%q with error %v", principal, err)
	return "", refusal
}

func TestTokensOfAnIssuer(t *testing.T) {
	c, i := newClock(), newIssuer(t)
	rsa1, ec1, stranger := rsaKey("rsa-1", 0), ecKey(t, "ec-1"), rsaKey("rsa-1", 1)
	i.publish(rsa1, ec1)
	r := i.resource(c, func(o *ResourceOptions) { o.Scopes = []string{"python"} })
	g := &Gate{Resource: r}
	at := func(seconds int64) int64 { return c.time().Unix() + seconds }
	with := func(change map[string]any) string { return rsa1.sign(t, i.claims(c, change)) }

	for name, test := range map[string]struct {
		token  string
		status int // 0: taken
		words  string
	}{
		"RSA":                      {with(nil), 0, ""},
		"EC":                       {ec1.sign(t, i.claims(c, nil)), 0, ""},
		"one audience of two":      {with(map[string]any{"aud": []string{"https://other.example.org", audience}}), 0, ""},
		"scp as a list":            {with(map[string]any{"scope": nil, "scp": []string{"python"}}), 0, ""},
		"scp as a text":            {with(map[string]any{"scope": nil, "scp": "a python"}), 0, ""},
		"expired within leeway":    {with(map[string]any{"exp": at(-10)}), 0, ""},
		"no type":                  {signed(t, jose.RS256, jose.JSONWebKey{Key: rsa1.private, KeyID: "rsa-1"}, "", i.claims(c, nil)), 0, ""},
		"no kid":                   {signed(t, jose.RS256, rsa1.private, "JWT", i.claims(c, nil)), 0, ""},
		"other type":               {signed(t, jose.RS256, jose.JSONWebKey{Key: rsa1.private, KeyID: "rsa-1"}, "logout+jwt", i.claims(c, nil)), 401, "access token"},
		"expired":                  {with(map[string]any{"exp": at(-60)}), 401, "expired"},
		"never expires":            {with(map[string]any{"exp": nil}), 401, "never expires"},
		"not valid yet":            {with(map[string]any{"nbf": at(120)}), 401, "not valid yet"},
		"issued in the future":     {with(map[string]any{"iat": at(120)}), 401, "not valid yet"},
		"other audience":           {with(map[string]any{"aud": "https://other.example.org"}), 401, "another server"},
		"no audience":              {with(map[string]any{"aud": nil}), 401, "another server"},
		"audience that only looks": {with(map[string]any{"aud": audience + "/"}), 401, "another server"},
		"other issuer":             {with(map[string]any{"iss": "https://evil.example.org"}), 401, "another issuer"},
		"no issuer":                {with(map[string]any{"iss": nil}), 401, "another issuer"},
		"no scope":                 {with(map[string]any{"scope": nil}), 403, "lacks a scope"},
		"other scope":              {with(map[string]any{"scope": "pythonic openid"}), 403, "lacks a scope"},
		"no subject":               {with(map[string]any{"sub": nil}), 401, "is no name"},
		"subject with a line":      {with(map[string]any{"sub": "a\nb"}), 401, "is no name"},
		"subject that is a number": {with(map[string]any{"sub": 7}), 401, "can't be read"},
		"endless subject":          {with(map[string]any{"sub": strings.Repeat("a", 300)}), 401, "is no name"},
		"claims that make no sense": {
			signed(t, jose.RS256, jose.JSONWebKey{Key: rsa1.private, KeyID: "rsa-1"}, "", map[string]any{"exp": "soon"}), 401, "can't be read"},
		"signed by a stranger with the same kid": {stranger.sign(t, i.claims(c, nil)), 401, "signature"},
		"changed after it was signed":            {tamper(t, with(nil)), 401, "signature"},
		"algorithm none":                         {unsigned(i.claims(c, nil)), 401, "neither known"},
		"HS256 with the public key as PEM":       {hmacWithPublicKey(t, rsa1, i.claims(c, nil), true), 401, "neither known"},
		"HS256 with the public key as DER":       {hmacWithPublicKey(t, rsa1, i.claims(c, nil), false), 401, "neither known"},
		"EC token that names the RSA key":        {(&key{"rsa-1", jose.ES256, ec1.private}).sign(t, i.claims(c, nil)), 401, "signature"},
		"key in the token's own header":          {withOwnKey(t, stranger, i.claims(c, nil)), 401, "signature"},
		"no token of ours":                       {"ust_" + strings.Repeat("x", 43), 401, "neither known"},
		"two dots and nothing":                   {"..", 401, "neither known"},
		"huge":                                   {strings.Repeat("x", longestToken+1), 400, "longer"},
	} {
		principal, refusal := show(t, g, test.token)
		if test.status == 0 {
			expect(t, refusal == nil && principal == i.URL+"|alice", "%s: %q, %v", name, principal, refusal)
			continue
		}
		if refusal == nil {
			t.Errorf("%s: taken as %q", name, principal)
			continue
		}
		if refusal.Status() != test.status || !strings.Contains(refusal.Error(), test.words) {
			t.Errorf("%s: %d %v", name, refusal.Status(), refusal)
		}
		if !strings.Contains(refusal.Challenge(), `resource_metadata="http://127.0.0.1:8808/.well-known/oauth-protected-resource/mcp"`) ||
			!strings.Contains(refusal.Challenge(), `scope="python"`) {
			t.Errorf("%s: challenge %s", name, refusal.Challenge())
		}
	}
}

// TestClaimsAreTakenByTheirNames: a claim that is spelt nearly like a real one,
// or stands twice, must not take its place.
func TestClaimsAreTakenByTheirNames(t *testing.T) {
	c, i := newClock(), newIssuer(t)
	k := ecKey(t, "k")
	i.publish(k)
	g := &Gate{Resource: i.resource(c, func(o *ResourceOptions) { o.Scopes = []string{"python"} })}
	for name, test := range map[string]struct {
		change map[string]any // of the claims
		last   string         // stands after them
		words  string         // "": taken
	}{
		"audience, misspelt":  {map[string]any{"aud": "https://other.example.org"}, `"AUD":"` + audience + `"`, "another server"},
		"issuer, misspelt":    {map[string]any{"iss": "https://evil.example.org"}, `"Iss":"` + i.URL + `"`, "another issuer"},
		"end, misspelt":       {map[string]any{"exp": c.time().Unix() - 600}, `"EXP":99999999999`, "expired"},
		"start, misspelt":     {map[string]any{"nbf": c.time().Unix() + 600}, `"Nbf":0`, "not valid yet"},
		"scope, misspelt":     {map[string]any{"scope": "openid"}, `"Scope":"python"`, "lacks a scope"},
		"issuer with long s":  {map[string]any{"iss": "https://evil.example.org"}, `"i\u017f\u017f":"` + i.URL + `"`, "another issuer"},
		"only misspelt":       {map[string]any{"aud": nil}, `"Aud":"` + audience + `"`, "another server"},
		"audience twice":      {map[string]any{"aud": "https://other.example.org"}, `"aud":"` + audience + `"`, "can't be read"},
		"subject twice":       {nil, `"sub":"admin"`, "can't be read"},
		"scope twice":         {map[string]any{"scope": "openid"}, `"scope":"python"`, "can't be read"},
		"good, misspelt more": {nil, `"SUB":"admin"`, ""},
	} {
		text, err := json.Marshal(i.claims(c, test.change))
		must(t, err)
		raw := strings.TrimSuffix(string(text), "}") + "," + test.last + "}"
		principal, refusal := show(t, g, signedText(t, jose.SigningKey{Algorithm: k.algorithm, Key: k.private}, &jose.SignerOptions{}, raw))
		switch {
		case test.words == "" && principal != i.URL+"|alice":
			t.Errorf("%s: %q, %v", name, principal, refusal)
		case test.words != "" && (refusal == nil || !strings.Contains(refusal.Error(), test.words)):
			t.Errorf("%s: taken as %q, %v", name, principal, refusal)
		}
	}
}

// tamper gives a signed token another subject.
func tamper(t *testing.T, token string) string {
	parts := strings.Split(token, ".")
	claims, err := base64.RawURLEncoding.DecodeString(parts[1])
	must(t, err)
	changed := strings.Replace(string(claims), "alice", "admin", 1)
	insist(t, changed != string(claims), "nothing was changed")
	parts[1] = base64.RawURLEncoding.EncodeToString([]byte(changed))
	return strings.Join(parts, ".")
}

func unsigned(claims map[string]any) string {
	text, _ := json.Marshal(claims)
	encode := base64.RawURLEncoding.EncodeToString
	return encode([]byte(`{"alg":"none"}`)) + "." + encode(text) + "."
}

// hmacWithPublicKey is the classic confusion: the key that everybody knows,
// taken for a secret.
func hmacWithPublicKey(t *testing.T, k *key, claims map[string]any, asPEM bool) string {
	der, err := x509.MarshalPKIXPublicKey(k.private.Public())
	must(t, err)
	secret := der
	if asPEM {
		secret = pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: der})
	}
	return signed(t, jose.HS256, jose.JSONWebKey{Key: secret, KeyID: k.kid}, "at+jwt", claims)
}

func withOwnKey(t *testing.T, k *key, claims map[string]any) string {
	options := (&jose.SignerOptions{EmbedJWK: true}).WithType("at+jwt")
	text, _ := json.Marshal(claims)
	return signedText(t, jose.SigningKey{Algorithm: jose.RS256, Key: k.private}, options, string(text))
}

// signedText signs the claims as they are written.
func signedText(t *testing.T, with jose.SigningKey, options *jose.SignerOptions, claims string) string {
	t.Helper()
	signer, err := jose.NewSigner(with, options)
	must(t, err)
	object, err := signer.Sign([]byte(claims))
	must(t, err)
	token, err := object.CompactSerialize()
	must(t, err)
	return token
}

func TestPrincipalOfAnotherClaim(t *testing.T) {
	c, i := newClock(), newIssuer(t)
	k := ecKey(t, "k")
	i.publish(k)
	g := &Gate{Resource: i.resource(c, func(o *ResourceOptions) { o.PrincipalClaim = "email" })}
	principal, _ := show(t, g, k.sign(t, i.claims(c, map[string]any{"email": "a@example.org"})))
	expect(t, principal == i.URL+"|a@example.org", "%q", principal)
	if principal, refusal := show(t, g, k.sign(t, i.claims(c, nil))); refusal == nil {
		t.Errorf("%q without the claim", principal)
	}
}

func TestKeysAreRotated(t *testing.T) {
	c, i := newClock(), newIssuer(t)
	first, second := ecKey(t, "1"), ecKey(t, "2")
	i.publish(first)
	g := &Gate{Resource: i.resource(c, nil)}
	mustPass := func(k *key) {
		t.Helper()
		_, refusal := show(t, g, k.sign(t, i.claims(c, nil)))
		insist(t, refusal == nil, "%v", refusal)
	}
	mustPass(first)
	mustPass(first)
	n := i.timesAsked()
	expect(t, n == 1, "the keys were fetched %d times for two tokens", n)

	i.publish(second)
	if _, refusal := show(t, g, second.sign(t, i.claims(c, nil))); refusal == nil || i.timesAsked() != 1 {
		t.Errorf("an unknown key had the issuer asked %d times at once (%v)", i.timesAsked(), refusal)
	}
	c.pass(refreshPause)
	mustPass(second)
	for range 50 { // whoever makes up keys
		show(t, g, ecKey(t, "made up").sign(t, i.claims(c, nil)))
	}
	if n := i.timesAsked(); n != 2 {
		t.Errorf("the keys were fetched %d times", n)
	}

	i.change(func() { i.keys = i.keys[1:] }) // the first is withdrawn
	c.pass(refreshEvery)
	mustPass(first) // this token begins the refresh, and need not wait for it
	eventually(t, "the withdrawn key is refused", func() bool {
		_, refusal := show(t, g, first.sign(t, i.claims(c, nil)))
		return refusal != nil
	})
	mustPass(second)
}

// eventually waits until a condition holds.
func eventually(t *testing.T, what string, holds func() bool) {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); !holds(); time.Sleep(5 * time.Millisecond) {
		insist(t, !time.Now().After(deadline), "after a minute: not %s", what)
	}
}

func TestIssuerThatIsDown(t *testing.T) {
	c, i := newClock(), newIssuer(t)
	k := ecKey(t, "1")
	i.publish(k)
	i.change(func() { i.down = true })
	log := &journal{}
	g := &Gate{Resource: i.resource(c, func(o *ResourceOptions) { o.Logger = log.logger() })}
	token := k.sign(t, i.claims(c, map[string]any{"exp": c.time().Add(100 * time.Hour).Unix()}))

	_, refusal := show(t, g, token)
	insist(t, refusal != nil && refusal.Status() == http.StatusServiceUnavailable && refusal.Challenge() == "", "%+v", refusal)
	expect(t, strings.Contains(log.String(), "could not be fetched") && !strings.Contains(log.String(), token), "log: %s", log)
	i.change(func() { i.down = false })
	c.pass(refreshPause)
	if _, refusal = show(t, g, token); refusal != nil {
		t.Fatal(refusal)
	}

	i.change(func() { i.down = true })
	c.pass(staleAfter - time.Minute) // the last keys do
	if _, refusal = show(t, g, token); refusal != nil {
		t.Fatal(refusal)
	}
	c.pass(time.Hour) // and then no more
	if _, refusal = show(t, g, token); refusal == nil || refusal.Status() != http.StatusServiceUnavailable {
		t.Fatalf("%+v", refusal)
	}
}

func TestWhereKeysAreFound(t *testing.T) {
	for name, test := range map[string]struct {
		issuerPath, place string
		jwks, lies        bool
		found             bool
	}{
		"RFC 8414":                        {"", "/.well-known/oauth-authorization-server", false, false, true},
		"RFC 8414 with a path":            {"/tenant", "/.well-known/oauth-authorization-server/tenant", false, false, true},
		"OpenID Connect":                  {"", "/.well-known/openid-configuration", false, false, true},
		"OpenID Connect with a path":      {"/tenant", "/tenant/.well-known/openid-configuration", false, false, true},
		"OpenID Connect, path behind":     {"/tenant", "/.well-known/openid-configuration/tenant", false, false, true},
		"issuer with a slash at its end":  {"/", "/.well-known/openid-configuration", false, false, true},
		"said by the operator":            {"", "/nowhere", true, false, true},
		"nowhere":                         {"", "/nowhere", false, false, false},
		"metadata that names another one": {"", "/.well-known/oauth-authorization-server", false, true, false},
	} {
		t.Run(name, func(t *testing.T) {
			c, i := newClock(), newIssuer(t)
			k := ecKey(t, "1")
			i.publish(k)
			i.place, i.claimed = test.place, i.URL+test.issuerPath
			if test.lies {
				i.claimed = "https://login.example.org"
			}
			g := &Gate{Resource: i.resource(c, func(o *ResourceOptions) {
				o.Issuer = i.URL + test.issuerPath
				if test.jwks {
					o.JWKSURL = i.URL + "/keys"
				}
			})}
			_, refusal := show(t, g, k.sign(t, i.claims(c, map[string]any{"iss": i.URL + test.issuerPath})))
			found := refusal == nil
			expect(t, found == test.found, "%v", refusal)
		})
	}
}

// TestKeysAreFoundAgainWithoutMetadata: they are where they were.
func TestKeysAreFoundAgainWithoutMetadata(t *testing.T) {
	c, i := newClock(), newIssuer(t)
	first, second := ecKey(t, "1"), ecKey(t, "2")
	i.publish(first)
	g := &Gate{Resource: i.resource(c, nil)}
	_, refusal := show(t, g, first.sign(t, i.claims(c, nil)))
	insist(t, refusal == nil, "%v", refusal)
	i.place = "/nowhere"
	i.publish(second)
	c.pass(time.Hour)
	if _, refusal := show(t, g, second.sign(t, i.claims(c, nil))); refusal != nil {
		t.Error(refusal)
	}
}

func TestKeysThatAreNotUsed(t *testing.T) {
	small := &key{"small", jose.RS256, makeRSA(1024)}
	encrypting := ecKey(t, "enc").public()
	encrypting.Use = "enc"
	good := ecKey(t, "good").public()
	secret := jose.JSONWebKey{Key: []byte(strings.Repeat("k", 32)), KeyID: "secret"}
	private := jose.JSONWebKey{Key: ecKey(t, "x").private, KeyID: "private"}
	var raw []json.RawMessage
	for _, k := range []jose.JSONWebKey{small.public(), encrypting, secret, private, good} {
		text, err := k.MarshalJSON()
		must(t, err)
		raw = append(raw, text)
	}
	raw = append(raw, json.RawMessage(`{"kty":"new"}`), json.RawMessage(`7`))
	text, _ := json.Marshal(map[string]any{"keys": raw})
	keys, err := parseKeys(text)
	expect(t, err == nil && len(keys) == 1 && keys[0].KeyID == "good", "%v %v", keys, err)
	for _, useless := range []string{"", "{", "{}", `{"keys":[]}`, `{"keys":[{"kty":"oct","k":"AAAA"}]}`} {
		keys, err := parseKeys([]byte(useless))
		expect(t, err != nil, "%s gave %v", useless, keys)
	}
}

func TestResourceOptionsThatMakeNoSense(t *testing.T) {
	good := ResourceOptions{Issuer: "https://login.example.org", Audience: []string{audience}}
	for name, change := range map[string]func(*ResourceOptions){
		"auth-issuer must begin with https":    func(o *ResourceOptions) { o.Issuer = "http://login.example.org" },
		"auth-issuer must be a URL":            func(o *ResourceOptions) { o.Issuer = "login.example.org" },
		"auth-audience is needed":              func(o *ResourceOptions) { o.Audience = nil },
		"auth-jwks-url must begin with https":  func(o *ResourceOptions) { o.JWKSURL = "http://login.example.org/keys" },
		"public-url must be scheme and host":   func(o *ResourceOptions) { o.PublicURL = "https://example.org/python" },
		"public-url must be a URL as https://": func(o *ResourceOptions) { o.PublicURL = "https://user@example.org" },
	} {
		o := good
		change(&o)
		_, err := NewResource(o)
		expect(t, err != nil && strings.Contains(err.Error(), name), "%s: %v", name, err)
	}
	r, err := NewResource(good)
	must(t, err)
	r.Close()
}

func TestMetadata(t *testing.T) {
	r, err := NewResource(ResourceOptions{Issuer: "https://login.example.org", Audience: []string{audience}, Scopes: []string{"python"}, PublicURL: "https://python.example.org/"})
	must(t, err)
	defer r.Close()
	routes := r.Metadata([]string{"/mcp", "/sse"})
	for path, resource := range map[string]string{
		MetadataPath: "https://python.example.org/mcp", MetadataPath + "/mcp": "https://python.example.org/mcp",
		MetadataPath + "/sse": "https://python.example.org/sse",
	} {
		answer := httptest.NewRecorder()
		routes[path].ServeHTTP(answer, httptest.NewRequest(http.MethodGet, path, http.NoBody))
		var document struct {
			Resource string
			Servers  []string `json:"authorization_servers"`
			Scopes   []string `json:"scopes_supported"`
		}
		if err := json.Unmarshal(answer.Body.Bytes(), &document); err != nil || document.Resource != resource ||
			len(document.Servers) != 1 || document.Servers[0] != "https://login.example.org" || len(document.Scopes) != 1 {
			t.Errorf("%s: %s %v", path, answer.Body, err)
		}
	}
	answer := httptest.NewRecorder()
	routes[MetadataPath].ServeHTTP(answer, httptest.NewRequest(http.MethodPost, MetadataPath, http.NoBody))
	expect(t, answer.Code == http.StatusMethodNotAllowed && len(routes) == 3, "%d, %d routes", answer.Code, len(routes))
	request := httptest.NewRequest(http.MethodPost, "/message", http.NoBody)
	got := r.metadataURL(request)
	expect(t, got == "https://python.example.org/.well-known/oauth-protected-resource/sse", "%v", got)
}
