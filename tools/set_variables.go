package tools

import (
	"context"
	"fmt"
	"strings"

	"understudy/sessions"
	"understudy/tools/answer"
)

// setVariables sets session variables.
func (b *toolbox) setVariables(ctx context.Context, c operationCall) (reply, error) {
	set, err := b.manager.SetVariables(ctx, c.client, c.InterpreterID, c.Variables)
	if err != nil {
		return reply{}, err
	}
	text := settled(set)
	if c.client == sessions.Anonymous && c.InterpreterID == "" { // it may have been made for this
		text += fmt.Sprintf(" Pass %s as interpreter_id to run_python_code.", set.InterpreterID)
	}
	return reply{text, map[string]any{"interpreter_id": set.InterpreterID, "set_variables": set}}, nil
}

func settled(s *sessions.Setting) string {
	var did []string
	if len(s.Set) > 0 {
		did = append(did, "set "+quoted(s.Set))
	}
	if len(s.Removed) > 0 {
		did = append(did, "removed "+quoted(s.Removed))
	}
	if len(did) == 0 {
		did = []string{"there was nothing to remove"}
	}
	text := fmt.Sprintf("Session variables of interpreter %s: %s.", s.InterpreterID, strings.Join(did, ", "))
	if len(s.Names) == 0 {
		return text + " None is set now."
	}
	return text + fmt.Sprintf(" Plugins find %s from the next run on.", quoted(s.Names))
}

// quoted writes names with commas between, a bounded text.
func quoted(names []string) string {
	all := make([]string, len(names))
	for i, name := range names {
		all[i] = fmt.Sprintf("%q", name)
	}
	return answer.Clip(strings.Join(all, ", "), 2000)
}
