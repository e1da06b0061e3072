package worker

import (
	"encoding/json"

	"understudy/sessions"
)

// The twin of pyworker/protocol.py. A frame is a 4-byte big-endian length, a
// header of that many bytes (a JSON object), then the attachments whose sizes
// in bytes the header lists under "attachments".
//
//	Go → Python   start       what the worker is for; answered by ready
//	              run         one execution; answered by figure* done
//	              variables   answered by variables
//	              stop        run the exit handlers and exit; a closed socket means the same
//	Python → Go   ready       the worker can run code
//	              figure      a figure was shown; one attachment, the preview
//	              done        the execution has ended
//	              variables   what the namespace holds
//	              log         for the server's log; may come at any time
//
// Go never sends a second request before the first is answered. Output takes
// other ways: two pipes, and the memory that stage_linux.go describes.
const (
	// protocolVersion is compared in the handshake; both halves are shipped
	// in one binary, so another version means a foreign library directory.
	protocolVersion = 1

	maxHeader      = 64 << 20  // bytes of one header
	maxAttachments = 64        // attachments of one frame
	maxAttachment  = 64 << 20  // bytes of one attachment
	maxAttached    = 256 << 20 // bytes of all attachments of one frame

	// exitProtocol is the exit code of a worker that read a broken frame.
	exitProtocol = 70
)

// The types of frames.
const (
	typeStart     = "start"
	typeRun       = "run"
	typeVariables = "variables"
	typeStop      = "stop"
	typeReady     = "ready"
	typeFigure    = "figure"
	typeDone      = "done"
	typeLog       = "log"
)

var knownTypes = map[string]bool{
	typeStart: true, typeRun: true, typeVariables: true, typeStop: true,
	typeReady: true, typeFigure: true, typeDone: true, typeLog: true,
}

type startMessage struct {
	Protocol       int    `json:"protocol"`
	InterpreterID  string `json:"interpreter_id"`
	Workdir        string `json:"workdir"`
	FirstExecution int    `json:"first_execution"`
	Echo           string `json:"echo"`
	Traceback      string `json:"traceback"`
	Warnings       string `json:"warnings"`
	CodeFile       string `json:"code_file"`
	InitCode       string `json:"init_code"`
	FigureMaxSide  int    `json:"figure_max_side"` // pixels
	ResultLimit    int    `json:"result_limit"`    // bytes
}

type runMessage struct {
	Execution     int    `json:"execution"`
	Code          string `json:"code"`
	ResultVarName string `json:"result_var_name"`
}

type emptyMessage struct{}

type readyMessage struct {
	Protocol  int    `json:"protocol"`
	PID       int    `json:"pid"`
	Python    string `json:"python"`
	InitError string `json:"init_error"`
}

type figureMessage struct {
	Execution int    `json:"execution"`
	Path      string `json:"path"`
	MIMEType  string `json:"mime_type"`
	Width     int    `json:"width"`
	Height    int    `json:"height"`
	Title     string `json:"title"`
}

type doneMessage struct {
	Execution      int                   `json:"execution"`
	OK             bool                  `json:"ok"`
	Signalled      bool                  `json:"signalled"`
	ExecTime       float64               `json:"exec_time"` // seconds
	Result         json.RawMessage       `json:"result,omitempty"`
	ResultType     string                `json:"result_type,omitempty"`
	ResultEncoding string                `json:"result_encoding,omitempty"`
	Notes          []string              `json:"notes,omitempty"`
	Exception      *exceptionMessage     `json:"exception,omitempty"`
	Variables      sessions.VariableDiff `json:"variables"`
}

type exceptionMessage struct {
	Type      string                 `json:"type"`
	Info      sessions.ExceptionInfo `json:"info"`
	Stack     []sessions.StackFrame  `json:"stack"`
	Traceback string                 `json:"traceback"`
}

type variablesMessage struct {
	Variables []sessions.Variable `json:"variables"`
}

type logMessage struct {
	Level   string `json:"level"`
	Message string `json:"message"`
}
