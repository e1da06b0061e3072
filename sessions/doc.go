// Package sessions says who owns which Python interpreter, for how long, and
// what may happen in it. It knows no process, no protocol and no file format:
// those satisfy the interfaces it declares.
//
// The words, used everywhere in this sense and no other:
//
//   - client: who calls; a stdio peer, an MCP session or a principal, or
//     Anonymous: a caller that can't be told from others.
//   - session: one live Python interpreter with its variables, working
//     directory and figures, owned by one client. On the wire it is an
//     "interpreter" with an interpreter_id.
//   - id: what the server knows a session by, in its maps, directories' names, the
//     journal and marks of processes: a name, if the session has one, a dash, and 128
//     random bits.
//   - handle: what a client knows it by, and passes as interpreter_id. Where possession
//     counts (Client.Keyed) it is the whole id, a key. Else it is the name alone, py1 or
//     what create was told, which is found among the client's own sessions only: the
//     same name of two clients is two sessions. Client.Handle makes the one of the other.
//   - execution: one run of code in a session, numbered from 1.
//   - worker: the process that runs a session's code.
//   - checkpoint: a state of a session, as an execution left it. The present
//     one is that of now; the past ones are what an undo goes back to.
//   - understudy: a copy of the worker that sleeps and holds a checkpoint. When
//     the worker dies it is woken in its place.
//   - branch: a new session that begins with the state of another, its parent.
//   - group: a session that no other was branched from, with its branches and
//     theirs. They share one wall, which bounds what their workers reach, and one
//     home, a directory for what they share (package workdir).
//   - undo: going back to the checkpoint before the present one.
//   - reference of a state (StateRef): the interpreter and the execution that left it. A
//     branch has its parent's until something has run in it.
//   - parent of an execution: the state it began with. What it follows is the
//     execution whose outcome the agent had before it: the same, but after one that
//     lost its process it is that one, whose state is nowhere.
//   - trial: an execution that is one of an experiment, with a plan or with a metric,
//     the variable that measures it.
//   - recorder: who is told of executions and of the states of sessions, to keep it.
//   - event: what an execution says while it runs: output, figures.
//   - result: what an execution gave, as its record on the wire.
//   - question: what the code asks a person with input(); a reply answers it.
//   - owner: the client that a session belongs to. A session without one is
//     reached by whoever shows its id.
//   - turn: the right to be the one execution that runs in a session.
//
// The way of a call: Manager.Run finds or makes the client's Session and waits for its turn
// (enter); Session.start asks the Verifier and sees that a worker is there; execute, the one
// goroutine of an execution, runs the code (attempt) and has the result recorded; await waits
// for it as long as the caller wished. A call that stops waiting does not
// stop the execution: Manager.Await goes on waiting for it. When the result has
// been handed out, and before the turn is, the worker is copied.
//
// Only its owner reaches a session; for everybody else there is none of that id.
// When a client leaves (Manager.Leave) its sessions have no owner until another
// client shows their id, whose they become then. Those of Anonymous have none
// from the start. The calls of a client that left end without taking a result.
//
// PrepareSandbox of an Isolator comes before the first worker of each session and not when
// it is made: that holds the Manager's lock, and a wall may wait until Python is found.
//
// A session has one timer. upkeep, which it calls, looks after all that comes due: time limits,
// calls that have waited long enough, copies that were put off, idle sessions (copying.go).
//
// What a Recorder must know: Begin and Record come with the turn held, so a slow one delays
// that interpreter alone; printed output is complete by then. Begin for what runs longer comes
// from another goroutine, and Record waits for it. SaveSession comes only where the state differs
// from what the Recorder knows, and once before anything runs; an interpreter that has ended
// keeps its last state.
package sessions
