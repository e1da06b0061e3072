package sessions

import "encoding/json"

// Status says how an execution stands.
type Status string

// The states of an execution.
const (
	StatusOK          Status = "ok"
	StatusError       Status = "error"
	StatusTimeout     Status = "timeout"
	StatusInterrupted Status = "interrupted"
	StatusCrashed     Status = "crashed"
	StatusRefused     Status = "refused"
	StatusRunning     Status = "running"
)

// Result is the record of an execution as programs read it. What does not
// apply is absent.
type Result struct {
	InterpreterID string `json:"interpreter_id"`
	Execution     int    `json:"execution"`
	Status        Status `json:"status" jsonschema:"enum=ok,enum=error,enum=timeout,enum=interrupted,enum=crashed,enum=refused,enum=running"`
	Success       bool   `json:"success"`

	Result         json.RawMessage `json:"result,omitempty" jsonschema:"description=The value of result_var_name as JSON; null when it is not defined"`
	ResultType     string          `json:"result_type,omitempty"`
	ResultEncoding string          `json:"result_encoding,omitempty" jsonschema:"enum=json,enum=repr"`
	Notes          []string        `json:"notes,omitempty" jsonschema:"description=What a reader should know: an undefined variable, values that JSON can't hold, what was stopped"`

	Stdout  string   `json:"stdout"`
	Stderr  string   `json:"stderr"`
	TermOut []string `json:"term_out" jsonschema:"description=Both streams in order of arrival; the last entry says how long it took"`

	ExecTime  float64 `json:"exec_time" jsonschema:"description=Seconds"`
	TimeLimit float64 `json:"time_limit" jsonschema:"description=Seconds"`

	ExcType   string         `json:"exc_type,omitempty"`
	ExcInfo   *ExceptionInfo `json:"exc_info,omitempty"`
	ExcStack  []StackFrame   `json:"exc_stack,omitempty" jsonschema:"description=Frames of the user's code as [file; line; function; text]"`
	Traceback string         `json:"traceback,omitempty"`

	Figures        []Figure `json:"figures,omitempty"`
	FigStoragePath []string `json:"fig_storage_path,omitempty"`
	Base64URI      []string `json:"base64_uri,omitempty"`

	InterpreterRestarted bool   `json:"interpreter_restarted,omitempty"`
	RestartReason        string `json:"restart_reason,omitempty"`
	StateRestored        *bool  `json:"state_restored,omitempty"`

	Variables *VariableDiff `json:"variables,omitempty"`

	// The numbers of characters that were left out between head and tail.
	StdoutTruncated int64  `json:"stdout_truncated,omitempty"`
	StderrTruncated int64  `json:"stderr_truncated,omitempty"`
	OutputURI       string `json:"output_uri,omitempty" jsonschema:"description=Where the whole output is kept when it was cut"`
}
