// Package worker is the Go half of a worker: it starts a Python process, speaks
// with it and ends it, with everything it has started.
//
// A worker has these roads to the server:
//
//	        Spawner ── Start ──► process ── own group, own kin
//	frames   conn    ◄────────►  fd 3     one socket, see wire
//	stdout   Outputs ◄────────   fd 1     a pipe, read all the time
//	stderr   Outputs ◄────────   fd 2     a pipe, read all the time
//	fault    process ◄────────   fd 4     a pipe, read when the process is dead
//
// The words, beside those of wire, pipes, proc and limits:
//
//   - kin, mark, orphan: who belongs to a worker, and how they are known; see proc.
//   - forker: a Python that forks workers and runs no code of the user's: root,
//     bare and always awake, and the zygote, its fork with libraries imported.
//     Each ends all kin when the server is killed.
//   - spare: a worker that was forked ahead and waits for its session.
//   - copy: a fork of an idle worker, asleep until it is woken or dismissed. One
//     that stands by shares the worker's line, one for a branch begins its own.
//   - line: a worker and its copies that stand by; one after the other leads.
//   - guard: a root that forks nobody, of a server that spawns.
//   - held output: what is printed while no execution runs; the next gets it.
//
// One execution:
//
//	Outputs.Attach(sink)            held output goes to the sink first
//	conn.Write(run)
//	loop conn.Receive()             figure → sink; done → outcome
//	Outputs.Detach()                what is in the pipes goes to the sink, then
//	                                the sink is let go
//
// and, when the process dies in the loop: its owner ends the kin, reaps it and
// says why it died; then the pipes are emptied and a *sessions.CrashError tells.
// The session wakes a copy (Understudy.Wake) before it closes the dead worker.
package worker
