package auth

import (
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"
)

func TestHeader(t *testing.T) {
	c := newClock()
	alice := made(t, "alice", nil, time.Time{})
	g := opened(t, tokenFile(t, alice.Line), c, &journal{})
	header := func(values ...string) func(*http.Request) {
		return func(r *http.Request) { r.Header["Authorization"] = values }
	}
	query := func(text string) func(*http.Request) {
		return func(r *http.Request) {
			r.URL.RawQuery = text
			r.Header.Set("Authorization", "Bearer "+alice.Token)
		}
	}
	for name, test := range map[string]struct {
		change    func(*http.Request)
		status    int
		challenge string
	}{
		"plain":                   {header("Bearer " + alice.Token), 0, ""},
		"scheme in small letters": {header("bearer " + alice.Token), 0, ""},
		"more spaces":             {header("  Bearer   " + alice.Token + " "), 0, ""},
		"other query":             {query("sessionId=1"), 0, ""},
		"none":                    {header(), 401, `Bearer realm="understudy"`},
		"empty":                   {header(""), 401, `Bearer realm="understudy"`},
		"other scheme":            {header("Basic YTpi"), 401, `Bearer realm="understudy"`},
		"the token alone":         {header(alice.Token), 401, `Bearer realm="understudy"`},
		"no token":                {header("Bearer"), 400, `Bearer realm="understudy", error="invalid_request"`},
		"no token but spaces":     {header("Bearer    "), 400, `Bearer realm="understudy", error="invalid_request"`},
		"two tokens":              {header("Bearer " + alice.Token + " " + alice.Token), 400, `error="invalid_request"`},
		"with a comma":            {header("Bearer " + alice.Token + ","), 400, `error="invalid_request"`},
		"two headers":             {header("Bearer "+alice.Token, "Bearer "+alice.Token), 400, `error="invalid_request"`},
		"in the address":          {query("access_token=" + alice.Token), 400, `error="invalid_request"`},
		"in the address, escaped": {query("a=b&access%5Ftoken=x"), 400, `error="invalid_request"`},
		"unknown":                 {header("Bearer " + strings.Repeat("A", 47)), 401, `error="invalid_token", error_description="the token is not known"`},
		"quotes":                  {header(`Bearer "x"`), 400, `error="invalid_request"`},
	} {
		principal, refusal := send(t, g, test.change)
		if test.status == 0 {
			expect(t, principal == "alice", "%s: %v", name, refusal)
			continue
		}
		if refusal == nil || refusal.Status() != test.status || !strings.Contains(refusal.Challenge(), test.challenge) {
			t.Errorf("%s: %+v", name, refusal)
			continue
		}
		if strings.Contains(refusal.Challenge(), "resource_metadata") {
			t.Errorf("%s: there is no issuer to find: %s", name, refusal.Challenge())
		}
		expect(t, !strings.Contains(refusal.Error()+refusal.Challenge(), alice.Token), "%s: the refusal has the token", name)
	}
}

func FuzzHeader(f *testing.F) {
	for _, seed := range []string{"", "Bearer", "Bearer x", "bearer  a.b.c==", "Basic eDp5", "Bearer \x00", "Bearer a b", "Bearer " + strings.Repeat("=", 9000)} {
		f.Add(seed, "")
	}
	f.Add("Bearer x", "access_token=x")
	f.Add("Bearer x", "%zz;access_token")
	f.Fuzz(func(t *testing.T, value, query string) {
		r := &http.Request{Header: http.Header{"Authorization": {value}}, URL: &url.URL{Path: "/mcp", RawQuery: query}}
		token, refusal := bearer(r)
		insist(t, (token == "") == (refusal != nil), "%q and %v", token, refusal)
		if refusal == nil {
			insist(t, len(token) <= longestToken && token68.MatchString(token) && strings.Contains(value, token), "%q of %q", token, value)
			return
		}
		told := refusal.challenged("https://example.org/", []string{value})
		for _, c := range told.Challenge() {
			if c < 0x20 || c > 0x7e {
				t.Fatalf("%q can't be a header", told.Challenge())
			}
		}
		if strings.Count(told.Challenge(), `"`)%2 != 0 {
			t.Fatalf("%q has an open quote", told.Challenge())
		}
	})
}
