// Package journal keeps a record of every execution in a file (SQLite), durable
// before the answer leaves, and reads it: while servers write, and after they died.
//
// The words, beside those of sessions:
//
//   - run: what one server did from its start to its end.
//   - trial: an execution that belongs to an experiment: it has a plan, or a metric.
//   - experiment: the trials of one client in one run; of callers that can't be told
//     apart, those of an interpreter and its branches.
//   - line: the executions by which a state came to be, from the first to the last.
//   - best trial: the one with the best metric that is not buggy; the first wins a tie.
//
// Each Begin, Record and SaveSession is one transaction, safe against the death of processes and
// not against the last moments before a power cut (WAL, synchronous=NORMAL). SQLite brings
// its log into the file by itself, one commit in two hundred.
//
// A commit is on the way of each call: it changes four or five pages. Details stand in the
// row of their execution, last, so that who reads heads does not read them; versions of the
// schema before 3 had them in a table of their own, which is still read. The calls of other
// servers' tools have a table: few executions make any, and they are long. Revisions are
// microseconds, made in the server: only it writes its run, and they grow within a run alone.
//
// What is easily got wrong: SQLite would rather read the table backwards than sort a few
// rows, so queries name their index. An ended interpreter tells SaveSession a zero state: the one
// before is kept. A trial that began and never ran is deleted and its number given back; one
// whose end could not be stored becomes lost. A deletion has no revision: who polls drops
// running rows that a full read no longer has. Nobody writes that a killed server's
// executions are lost: readers say so, by the run's lock and process. Masking decodes JSON
// rather than replacing in it, as a secret of digits would break the document; plain words
// are masked as whole words only. Spools are linked where there is no secret to look for,
// figures and artifacts copied, as code may still write to them. A copy appears by a rename,
// so nothing unmasked ever has the name.
package journal
