package auth

import (
	"fmt"
	"net/http"
	"strings"
)

// Refusal is an error that says what the client is told. It never holds a part
// of the token.
type Refusal struct {
	status    int
	code      string // error of RFC 6750, "" when nothing was sent
	reason    string // for the client and the log
	challenge string
}

// Error returns the reason.
func (r *Refusal) Error() string { return r.reason }

// Status is the HTTP status: 400, 401, 403, 421 or 503.
func (r *Refusal) Status() int { return r.status }

// Challenge is the value of WWW-Authenticate, "" for none.
func (r *Refusal) Challenge() string { return r.challenge }

// The errors of RFC 6750, section 3.1.
const (
	codeInvalidRequest = "invalid_request"
	codeInvalidToken   = "invalid_token"
	codeTooLittle      = "insufficient_scope"
)

func missing() *Refusal {
	return &Refusal{status: http.StatusUnauthorized, reason: "no bearer token was sent; send one in the header Authorization: Bearer TOKEN"}
}

func malformed(reason string) *Refusal {
	return &Refusal{status: http.StatusBadRequest, code: codeInvalidRequest, reason: reason}
}

func invalid(reason string) *Refusal {
	return &Refusal{status: http.StatusUnauthorized, code: codeInvalidToken, reason: reason}
}

func tooLittle(scopes []string) *Refusal {
	return &Refusal{
		status: http.StatusForbidden, code: codeTooLittle,
		reason: fmt.Sprintf("the token lacks a scope that is needed here (%s)", strings.Join(scopes, " ")),
	}
}

func unavailable(reason string) *Refusal {
	return &Refusal{status: http.StatusServiceUnavailable, reason: reason}
}

// challenged returns the refusal with its header. RFC 6750 has an error code
// only where something was sent.
func (r *Refusal) challenged(metadata string, scopes []string) *Refusal {
	if r.status == http.StatusServiceUnavailable || r.status == http.StatusMisdirectedRequest {
		return r
	}
	parts := []string{`realm="understudy"`}
	if r.code != "" {
		parts = append(parts, parameter("error", r.code), parameter("error_description", r.reason))
	}
	if len(scopes) > 0 {
		parts = append(parts, parameter("scope", strings.Join(scopes, " ")))
	}
	if metadata != "" {
		parts = append(parts, parameter("resource_metadata", metadata))
	}
	told := *r
	told.challenge = "Bearer " + strings.Join(parts, ", ")
	return &told
}

// parameter writes one parameter of a challenge. Characters that a quoted
// string of that header may not hold are left out.
func parameter(name, value string) string {
	clean := strings.Map(func(c rune) rune {
		if c < 0x20 || c > 0x7e || c == '"' || c == '\\' {
			return -1
		}
		return c
	}, value)
	return name + `="` + clean + `"`
}
