// Package egress is the way out for sessions that may reach some hosts and no
// others: an HTTP proxy in the server, one listener for each session.
//
// The words, used in this sense and no other:
//
//   - rule: one host that the operator listed, as pypi.org, *.example.com or
//     localhost:8080. Without a port it is good for 443 and 80.
//   - target: the host and port that a request names.
//   - place: an address that the target's name leads to and that may be dialed.
//   - refusal: an error that says what the client is told: a sentence that names the
//     host and --allow-net.
//   - served: one listener and all that came through it.
//   - inlet: a connection from a session.
//
// The way of a request: the target is brought into its canonical form and held
// against the rules; its name is resolved once; addresses of this machine and of
// private networks are left out unless they are listed as such; what remains is
// dialed, and nothing else. httputil.ReverseProxy passes plain HTTP on. A tunnel to port 443 must
// begin with TLS for the same name, unless a rule names the port.
//
// What is in a TLS stream is not seen: a listed host may pass things on to others,
// and a front that serves many sites may be asked for any of them by a Host header.
package egress
