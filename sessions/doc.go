// Package sessions says who owns which Python interpreter, for how long, and
// what may happen in it. It knows no process, no protocol and no file format:
// those satisfy the interfaces it declares.
//
// The words, used everywhere in this sense and no other:
//
//   - client: who calls; a stdio peer, an MCP session or a principal.
//   - session: one live Python interpreter with its variables, working
//     directory and figures, owned by one client. On the wire it is an
//     "interpreter" with an interpreter_id.
//   - execution: one run of code in a session, numbered from 1.
//   - worker: the process that runs a session's code.
//   - event: what an execution says while it runs: output, figures.
//   - result: what an execution gave, as its record on the wire.
//   - turn: the right to be the one execution that runs in a session.
//
// The way of a call: Manager finds or makes the client's Session; Session.Run
// waits for its turn, asks the Verifier, starts an execution on the Worker and
// waits for it as long as the caller wished. A call that stops waiting does not
// stop the execution: Session.Wait goes on waiting for it.
package sessions
