package sessions

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"
)

// Terminal is what a terminal would have shown of the run: its output, in pieces, and the
// traceback below it. Programs that read experiments read nothing else.
func (r *Result) Terminal(output []string) []string {
	text := r.ErrorText()
	if text == "" {
		return output
	}
	if last := len(output) - 1; last >= 0 && !strings.HasSuffix(output[last], "\n") {
		text = "\n" + text
	}
	return append(slices.Clone(output), text)
}

// ErrorText is the traceback, or of an end without one the line that it would end with; ""
// of a run that ended well or goes on, and of one whose TimeLine says all.
func (r *Result) ErrorText() string {
	text := r.Traceback
	if text == "" && r.ExcType != "" && r.Status != StatusTimeout {
		text = r.ExcType
		if r.ExcInfo != nil && r.ExcInfo.Msg != "" {
			text += ": " + r.ExcInfo.Msg
		}
	}
	if text == "" {
		return ""
	}
	return strings.TrimRight(text, "\n") + "\n"
}

// TimeLine says how long a run took that is over.
func (r *Result) TimeLine() string {
	limit := "none"
	if r.TimeLimit > 0 {
		limit = InWords(SecondsOf(r.TimeLimit))
	}
	if r.Status == StatusTimeout {
		return fmt.Sprintf("TimeoutError: Execution exceeded the time limit of %s.", limit)
	}
	return fmt.Sprintf("Execution time: %s (time limit is %s).", InWords(SecondsOf(r.ExecTime)), limit)
}

// SecondsOf turns a record's seconds into a Duration.
func SecondsOf(s float64) time.Duration {
	if s >= math.MaxInt64/float64(time.Second) {
		return math.MaxInt64
	}
	return time.Duration(s * float64(time.Second))
}
