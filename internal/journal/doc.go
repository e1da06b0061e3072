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
package journal
