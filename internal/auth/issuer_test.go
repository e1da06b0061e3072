package auth

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"

	"github.com/go-jose/go-jose/v4"
	"github.com/go-jose/go-jose/v4/jwt"
)

// testIssuer is a real issuer on this machine: metadata, keys and signatures.
type testIssuer struct {
	*httptest.Server
	t *testing.T

	mu      sync.Mutex
	keys    []jose.JSONWebKey // public, as they are published
	asked   int               // how often for the keys
	down    bool
	place   string // of its metadata
	claimed string // the issuer that its metadata names
}

func newIssuer(t *testing.T) *testIssuer {
	i := &testIssuer{t: t, place: "/.well-known/oauth-authorization-server"}
	i.Server = httptest.NewServer(http.HandlerFunc(i.serve))
	i.claimed = i.URL
	t.Cleanup(i.Close)
	return i
}

func (i *testIssuer) serve(w http.ResponseWriter, r *http.Request) {
	i.mu.Lock()
	defer i.mu.Unlock()
	switch {
	case i.down:
		http.Error(w, "down", http.StatusBadGateway)
	case r.URL.Path == i.place:
		_ = json.NewEncoder(w).Encode(map[string]string{"issuer": i.claimed, "jwks_uri": i.URL + "/keys"})
	case r.URL.Path == "/keys":
		i.asked++
		_ = json.NewEncoder(w).Encode(jose.JSONWebKeySet{Keys: i.keys})
	default:
		http.NotFound(w, r)
	}
}

func (i *testIssuer) change(change func()) {
	i.mu.Lock()
	defer i.mu.Unlock()
	change()
}

func (i *testIssuer) timesAsked() int {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.asked
}

// publish adds a key to the set.
func (i *testIssuer) publish(keys ...*key) {
	i.change(func() {
		for _, k := range keys {
			i.keys = append(i.keys, k.public())
		}
	})
}

// key is a pair of keys.
type key struct {
	kid       string
	algorithm jose.SignatureAlgorithm
	private   crypto.Signer
}

var rsaKeys = sync.OnceValue(func() []*rsa.PrivateKey { // slow to make
	return []*rsa.PrivateKey{makeRSA(2048), makeRSA(2048)}
})

func makeRSA(bits int) *rsa.PrivateKey {
	k, err := rsa.GenerateKey(rand.Reader, bits)
	if err != nil {
		panic(err)
	}
	return k
}

func rsaKey(kid string, n int) *key { return &key{kid, jose.RS256, rsaKeys()[n]} }

func ecKey(t *testing.T, kid string) *key {
	k, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	must(t, err)
	return &key{kid, jose.ES256, k}
}

func (k *key) public() jose.JSONWebKey {
	return jose.JSONWebKey{Key: k.private.Public(), KeyID: k.kid, Algorithm: string(k.algorithm), Use: "sig"}
}

// sign makes a token of the claims.
func (k *key) sign(t *testing.T, claims map[string]any) string {
	return signed(t, k.algorithm, jose.JSONWebKey{Key: k.private, KeyID: k.kid}, "at+jwt", claims)
}

func signed(t *testing.T, algorithm jose.SignatureAlgorithm, key any, kind string, claims map[string]any) string {
	t.Helper()
	options := &jose.SignerOptions{}
	if kind != "" {
		options = options.WithType(jose.ContentType(kind))
	}
	signer, err := jose.NewSigner(jose.SigningKey{Algorithm: algorithm, Key: key}, options)
	must(t, err)
	token, err := jwt.Signed(signer).Claims(claims).Serialize()
	must(t, err)
	return token
}
