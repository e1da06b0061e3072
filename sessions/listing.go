package sessions

import "time"

// Listing is what a client sees of one of its sessions.
type Listing struct {
	ID string `json:"id"`
	// Status is "running" while code runs, else "idle".
	Status  string `json:"status"`
	Default bool   `json:"default"`
	// Running is the number of the execution that runs now.
	Running    int       `json:"running,omitempty"`
	Executions int       `json:"executions"`
	Waiting    int       `json:"waiting,omitempty"` // calls waiting for their turn
	Created    time.Time `json:"created"`
	LastUsed   time.Time `json:"last_used"`
	Age        float64   `json:"age"`              // seconds
	Idle       float64   `json:"idle"`             // seconds, 0 while running
	Memory     uint64    `json:"memory,omitempty"` // resident bytes
	PID        int       `json:"pid,omitempty"`
	Python     string    `json:"python,omitempty"`
	Workdir    string    `json:"workdir"`
	// InitError is the traceback of the operator's init code, if it failed.
	InitError string `json:"init_error,omitempty"`
}

// Interruption says what an interrupt did.
type Interruption struct {
	InterpreterID string        `json:"interpreter_id"`
	Execution     int           `json:"execution,omitempty"`
	Elapsed       time.Duration `json:"-"`
	// Stopped is false when nothing was running.
	Stopped bool `json:"stopped"`
	// StateKept is false when the code ignored the interrupt and its process
	// had to be killed.
	StateKept bool `json:"state_kept"`
	// Where is the line of the user's code that was interrupted, if known.
	Where *StackFrame `json:"where,omitempty"`
	// Message tells all this in a sentence.
	Message string `json:"message"`
}

// Progress is what a waiting caller is told about once a second.
type Progress struct {
	Elapsed, Limit time.Duration
	// LastLine is the last line of output that isn't blank, cut to 200 characters.
	LastLine string
	// Queued is true while the call still waits for its turn.
	Queued bool
}
