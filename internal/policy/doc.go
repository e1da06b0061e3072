// Package policy says what code may do before any of it runs: rules in a file,
// checked on the syntax tree in an interpreter that no user's code has touched. It
// is a guard rail that catches mistakes and plain misuse; the sandbox is the wall.
//
// A rule names what is allowed or blocked (a module, a function, an attribute, a
// variable, a magic, a command). Rules are all that hold for somebody; a book is
// the rules of one version of the file: the base rules, and those of principals. A
// checker is a process of pyworker's that checks code by rules; a violation is a
// place in the code that breaks one.
package policy
