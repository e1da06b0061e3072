package sessions

import (
	"errors"
	"strconv"
)

// errPrinted says that nothing runs, but something was printed since the last execution.
var errPrinted = errors.New("there is output of the time between the calls")

// printedBetween is the record of what was printed since the last execution.
func (s *Session) printedBetween() *Result {
	s.mu.Lock()
	defer s.mu.Unlock()
	r := &Result{InterpreterID: s.name, Execution: s.count, Status: StatusOK, Success: true, Heading: "Nothing is running; this was printed since execution " + strconv.Itoa(s.count) + "."}
	if s.worker != nil {
		r.Between = inOrder(s.worker.Between(), max(s.options.OutputLimit/2, 4))
	}
	return r
}
