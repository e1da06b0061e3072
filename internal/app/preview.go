package app

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"understudy/sessions"
)

const (
	// previewPatience is how long a preview waits for a workspace that is being prepared:
	// small data is copied by then, and no client gives a request up so soon.
	previewPatience = 10 * time.Second
	// previewFresh is for how long one is given without a look at the files.
	previewFresh = 10 * time.Second
	// previewTime bounds a look, with the start of its interpreter. The Python half ends
	// by itself after some seconds.
	previewTime = 60 * time.Second
)

// previewer has the files in input/ described by Python, in an interpreter of its own that
// is behind the wall of the sessions and runs no code of theirs: what hostile files do to
// it, they could do to a session. The text is kept while names, sizes and times of the
// files stay what they are.
type previewer struct {
	input   string   // the absolute path of the directory
	sources []string // those of the operator's data, where links in it may lead to
	// run has an interpreter run code, and returns what that leaves in previewResult.
	run func(ctx context.Context, code string) (json.RawMessage, error)
	// waiting says in a clause how far the workspace is, "" once it is prepared, and why
	// it can't be; nil: it is.
	waiting func() (string, error)
	now     func() time.Time
	turn    chan struct{} // holds a value while one looks

	text, print string
	looked      time.Time
}

// preview is what pyworker/workspace/preview.py returns.
type preview struct {
	Print  string  `json:"print"`
	Text   *string `json:"text"`   // nil: nothing has changed
	Hasted bool    `json:"hasted"` // the time was not enough for everything
	Error  string  `json:"error"`  // why the directory can't be described
}

func (a *App) newPreviewer() *previewer {
	return &previewer{
		input: a.workspace.plan.Input(), sources: a.workspace.plan.Sources(), run: a.describeData, waiting: a.workspace.state,
		now: time.Now, turn: make(chan struct{}, 1),
	}
}

// Text describes the directory as it was at most ten seconds ago. As long as the workspace
// is being prepared it says how far that is.
func (p *previewer) Text(ctx context.Context) (string, error) {
	if p.waiting != nil {
		words, err := p.waiting()
		if err != nil {
			return "There is no preview: " + err.Error() + ".\n", nil
		}
		if words != "" {
			return "There is no preview yet: " + words + ". Read it again later, or look at input/ once a run has been answered.\n", nil
		}
	}
	select {
	case p.turn <- struct{}{}:
		defer func() { <-p.turn }()
	case <-ctx.Done():
		return "", ctx.Err()
	}
	if p.text != "" && p.now().Sub(p.looked) < previewFresh {
		return p.text, nil
	}
	found, err := p.look(ctx)
	if err != nil {
		return "", err
	}
	if found.Error != "" { // code's doing, and no fault of the server's
		return "There is no preview: " + found.Error + ".\n", nil
	}
	if found.Text != nil {
		p.text, p.print = *found.Text, found.Print
	}
	if found.Hasted { // the next time may be better
		p.print = ""
	}
	p.looked = p.now()
	return p.text, nil
}

func (p *previewer) look(ctx context.Context) (preview, error) {
	asked, err := json.Marshal(map[string]any{"directory": p.input, "roots": append([]string{}, p.sources...), "known": p.print})
	if err != nil {
		return preview{}, err
	}
	ctx, cancel := context.WithTimeout(ctx, previewTime)
	defer cancel()
	// A JSON object of texts is a dictionary of Python's, too.
	answer, err := p.run(ctx, fmt.Sprintf("from pyworker.workspace import preview\n%s = preview.describe(**%s)", previewResult, asked))
	if err != nil {
		return preview{}, err
	}
	var found preview
	if err := json.Unmarshal(answer, &found); err != nil {
		return preview{}, fmt.Errorf("reading what Python told of the data: %w", err)
	}
	return found, nil
}

// previewResult is the variable that the description is left in.
const previewResult = "understudy_preview"

// describeData runs code in an interpreter of its own and returns what it left in
// previewResult.
func (a *App) describeData(ctx context.Context, code string) (json.RawMessage, error) {
	o, err := a.trialOptions(ctx, "preview")
	if err != nil { // which is no fault of the server's
		return json.Marshal(preview{Error: err.Error()})
	}
	var answer json.RawMessage
	err = Try(ctx, o, func(t *Trial) error {
		outcome, err := t.Run(ctx, t.Worker, sessions.Request{Execution: 1, Code: code, ResultVarName: previewResult})
		if err == nil && outcome.Exception != nil {
			err = errors.New(strings.TrimSpace(outcome.Exception.Traceback))
		}
		answer = outcome.Result
		return err
	})
	return answer, err
}
