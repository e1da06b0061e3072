// Package auth says who sent an HTTP request: the bearer of a token from the
// operator's file, or of a JWT that a configured issuer signed. It knows nothing
// of what a request asks for.
//
// The words, used in this sense and no other:
//
//   - token: what a client sends in the Authorization header. It is a secret:
//     no text of this package, no error and no log line, holds one.
//   - principal: the name of who authenticated. The names of a file and those of
//     an issuer can't be the same, as the latter begin with the issuer's URL.
//   - scope: what a token is good for. A token of the file has all scopes
//     unless its line names some.
//   - refusal: an error that says what the client is told: a status and the
//     header WWW-Authenticate.
//
// The way of a request: Gate takes the token out of the header, asks the file's
// Tokens and then the Resource, each if it is there, and either returns the
// principal or a Refusal.
package auth
