package wire

import (
	"time"

	"understudy/sessions"
)

// Figure is what a frame of type figure says.
func (f Frame) Figure() (figure sessions.Figure, err error) {
	var m Figure
	if err := f.Decode(&m); err != nil {
		return figure, err
	}
	if len(f.attachments) != 1 {
		return figure, Errorf("figure", "a figure frame has %d attachments in place of one", len(f.attachments))
	}
	figure = m.Figure
	figure.URI, figure.Names, figure.DisplayID, figure.Preview = "", m.Names, m.DisplayID, f.attachments[0]
	return figure, nil
}

// Artifact is what a frame of type artifact says.
func (f Frame) Artifact() (artifact sessions.Artifact, err error) {
	var m Artifact
	if err := f.Decode(&m); err != nil {
		return artifact, err
	}
	if len(f.attachments) > 1 {
		return artifact, Errorf("artifact", "an artifact frame has %d attachments, not one or none", len(f.attachments))
	}
	artifact = m.Artifact
	artifact.URI = ""
	if len(f.attachments) == 1 {
		artifact.Image = f.attachments[0]
	}
	return artifact, nil
}

// Cleared is what a frame of type clear says.
func (f Frame) Cleared() (sessions.Cleared, error) {
	var m Clear
	err := f.Decode(&m)
	return sessions.Cleared{Figures: m.Figures, Artifacts: m.Artifacts}, err
}

// Done is what a frame of type done says, if it is the end of that execution.
func (f Frame) Done(execution int) (done Done, err error) {
	if err := f.Decode(&done); err != nil {
		return done, err
	}
	done.size = len(f.header)
	if done.Execution != execution {
		return done, Errorf("turn", "it answered execution %d with %d", execution, done.Execution)
	}
	return done, nil
}

// Outcome is the message as a session knows it.
func (m Done) Outcome() sessions.Outcome {
	outcome := sessions.Outcome{
		OK:             m.OK,
		Signalled:      m.Signalled,
		ExecTime:       time.Duration(m.ExecTime * float64(time.Second)),
		Result:         m.Result,
		ResultType:     m.ResultType,
		ResultEncoding: m.ResultEncoding,
		Notes:          m.Notes,
		ExitCode:       m.ExitCode,
		Variables: sessions.VariableDiff{
			Added: m.Variables.Added, Changed: m.Variables.Changed, Removed: m.Variables.Removed,
			NotCompared: m.Variables.NotCompared, More: m.Variables.More,
		},
		Obstacle: m.Obstacle,
		Tasks:    m.Tasks,
		Python:   m.Python,
		Refused:  m.Refused,
		Size:     m.size,
	}
	if m.Metric != nil {
		outcome.Metric = &sessions.Metric{Value: m.Metric.Value, Problem: m.Metric.Problem}
	}
	if m.Exception != nil {
		e := m.Exception
		outcome.Exception = &sessions.Exception{Type: e.Type, Info: e.Info, Stack: e.Stack, Traceback: e.Traceback}
	}
	return outcome
}
