// Package policy says what code may do before any of it runs: rules in a file,
// checked on the syntax tree in an interpreter that no user's code has touched. It
// is a guard rail that catches mistakes and plain misuse; the sandbox is the wall.
//
// A rule names what is allowed or blocked (a module, a function, an attribute, a
// variable, a magic, a command). Rules are all that hold for somebody; a book is
// the rules of one version of the file: the base rules, and those of principals. A
// checker is a process of pyworker's that checks code by rules; a violation is a
// place in the code that breaks one.
//
// A checker is a worker.Helper: isolated, without the server's environment, its program given
// from memory, as sessions could change files; one check at a time. Its death,
// 5 seconds of silence or an answer that is none refuse the code; only where one that had
// served turns out to be dead is the code asked about once more. What it can't read (ErrSyntax)
// goes to the session compile-only: validity there may depend on what ran before.
package policy
