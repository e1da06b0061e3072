package auth

import (
	"net/http"
	"regexp"
	"strings"
)

// longestToken bounds what is looked at, in bytes. JWTs with many groups in
// them reach some kilobytes.
const longestToken = 8 << 10

// bearer takes the token out of the request's one Authorization header.
func bearer(r *http.Request) (string, *Refusal) {
	if r.URL != nil && r.URL.RawQuery != "" && r.URL.Query().Has("access_token") {
		return "", malformed("a token in the address is refused, as addresses are logged everywhere; send it in the header Authorization: Bearer TOKEN, and replace this one")
	}
	values := r.Header.Values("Authorization")
	switch len(values) {
	case 0:
		return "", missing()
	case 1:
		return parseHeader(values[0])
	default:
		return "", malformed("there is more than one Authorization header")
	}
}

// parseHeader reads "Bearer TOKEN". Another scheme counts as no token at all.
func parseHeader(value string) (string, *Refusal) {
	scheme, token, _ := strings.Cut(strings.Trim(value, " \t"), " ")
	if !strings.EqualFold(scheme, "Bearer") {
		return "", missing()
	}
	token = strings.TrimLeft(token, " ")
	switch {
	case token == "":
		return "", malformed("the Authorization header has no token after Bearer")
	case len(token) > longestToken:
		return "", malformed("the token is longer than 8192 characters")
	case !token68.MatchString(token):
		return "", malformed("the token has characters that no bearer token has")
	}
	return token, nil
}

// token68 is how RFC 6750 wants a token written.
var token68 = regexp.MustCompile(`^[A-Za-z0-9._~+/-]+=*$`)
