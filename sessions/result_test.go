package sessions

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestTerminal(t *testing.T) {
	const trace = "Traceback (most recent call last):\n  File \"train.py\", line 1, in <module>\nKeyError: 'a'\n"
	said := func(message string) *ExceptionInfo {
		return &ExceptionInfo{Msg: message, Args: []json.RawMessage{}}
	}
	for name, test := range map[string]struct {
		result Result
		output []string
		want   []string
	}{
		"ok":                      {Result{Status: StatusOK}, []string{"a\n"}, []string{"a\n"}},
		"running":                 {Result{Status: StatusRunning}, []string{"a"}, []string{"a"}},
		"error":                   {Result{Status: StatusError, ExcType: "KeyError", Traceback: trace}, []string{"a\n", "b\n"}, []string{"a\n", "b\n", trace}},
		"error in a line":         {Result{Status: StatusError, ExcType: "KeyError", Traceback: trace}, []string{"a"}, []string{"a", "\n" + trace}},
		"error without output":    {Result{Status: StatusError, ExcType: "KeyError", Traceback: trace}, nil, []string{trace}},
		"fault, no newline":       {Result{Status: StatusCrashed, Traceback: "Fatal Python error: Aborted"}, nil, []string{"Fatal Python error: Aborted\n"}},
		"crash without a report":  {Result{Status: StatusCrashed, ExcType: "InterpreterCrash", ExcInfo: said("killed by SIGKILL")}, nil, []string{"InterpreterCrash: killed by SIGKILL\n"}},
		"command that failed":     {Result{Status: StatusError, Kind: RunsCommand}, []string{"a\n"}, []string{"a\n"}},
		"time limit":              {Result{Status: StatusTimeout, ExcType: "TimeoutError", Traceback: trace}, nil, []string{trace}},
		"time limit, no answer":   {Result{Status: StatusTimeout, ExcType: "TimeoutError", ExcInfo: said("Execution exceeded")}, nil, nil}, // the line about its time says it
		"exception without a msg": {Result{Status: StatusError, ExcType: "KeyError"}, nil, []string{"KeyError\n"}},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(test.want, test.result.Terminal(test.output)); diff != "" {
				t.Error(diff)
			}
		})
	}
}
