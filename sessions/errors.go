package sessions

import (
	"errors"
	"fmt"
)

// Code says who must act on an Error.
type Code string

// The codes of errors that reach the agent. Any other error is a fault of ours.
const (
	CodeBusy     Code = "busy"      // the session runs something else
	CodeNotFound Code = "not_found" // no such interpreter for this client
	CodeLimit    Code = "limit"     // a limit of the operator's was reached
	CodeRefused  Code = "refused"   // the code may not run
	CodeInvalid  Code = "invalid"   // an argument is wrong
	CodeClosed   Code = "closed"    // the server is stopping
	CodeStart    Code = "start"     // no interpreter could be started
)

// Error is an error that the agent can act on: nothing ran, and Message says
// what to do next.
type Error struct {
	Code    Code
	Message string
	Err     error // the cause, for the log; may be nil
}

func (e *Error) Error() string { return e.Message }

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// Errorf builds an Error of the given code.
func Errorf(code Code, format string, args ...any) *Error {
	err := fmt.Errorf(format, args...)
	return &Error{Code: code, Message: err.Error(), Err: errors.Unwrap(err)}
}

// ErrSyntax is the error of a Verifier that finds the code to be no valid Python. It
// is for Python in the session to report that, where code may have changed what is
// valid: a __future__ import of an earlier execution does.
var ErrSyntax = errors.New("the code is not valid Python")

// CodeOf returns the code of an Error in err's chain, or "" for a fault of ours.
func CodeOf(err error) Code {
	var e *Error
	if errors.As(err, &e) {
		return e.Code
	}
	return ""
}
