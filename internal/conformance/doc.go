// Package conformance holds no code of the server's: its tests put the HTTP
// stack and the built binary before programs that others wrote. They are
//
//   - the official conformance suite, against a fixture server that offers what
//     its scenarios ask for and against the real server;
//   - the Inspector, on every transport and in both eras of the protocol;
//   - clients of many makers, the official ones and frameworks for agents, which
//     hold a conversation with the real server on every transport that they have;
//   - what "make dist" has made, which runs these tests itself: the bundle's format by
//     its own program, documents by their schemas, and README's way to install.
//
// These programs come from npm and PyPI, so the tests run with "make
// conformance" alone, which installs them below build/ and names the place in
// UNDERSTUDY_CONFORMANCE. Without it the tests are skipped.
package conformance
