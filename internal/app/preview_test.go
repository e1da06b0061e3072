package app

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"
)

// TestPreview: as long as the workspace is prepared the text says so; then it is what
// Python says, and is kept while nothing changes.
func TestPreview(t *testing.T) {
	var waiting, answer string
	var broken, failed error
	var asked []string
	clock := time.Now()
	p := &previewer{
		input: "/w/input", sources: []string{"/data"}, turn: make(chan struct{}, 1), now: func() time.Time { return clock },
		waiting: func() (string, error) { return waiting, broken },
		run: func(_ context.Context, code string) (json.RawMessage, error) {
			asked = append(asked, code)
			return json.RawMessage(answer), failed
		},
	}
	for i, step := range []struct {
		waiting        string
		broken, failed error
		answer         string
		later          time.Duration
		want, asks     string // asks: of the code, "" for none
	}{
		{waiting: "preparing the workspace: 3.1 of 12 GB", want: "no preview yet: preparing the workspace: 3.1 of 12 GB."},
		{broken: errors.New("it is no zip file"), want: "There is no preview: it is no zip file."},
		{answer: `{"error":"input: gone"}`, want: "There is no preview: input: gone.", asks: `"known":""`},
		{failed: errors.New("no Python"), want: "error: no Python", asks: "describe("},
		{answer: `{"print":"1","text":"one","hasted":true}`, want: "one", asks: `"roots":["/data"]`},
		{answer: "none", later: 9 * time.Second, want: "one"},
		{answer: `{"print":"2","text":"two"}`, later: time.Second, want: "two", asks: `"known":""`},
		{answer: `{"print":"2"}`, later: 10 * time.Second, want: "two", asks: `"known":"2"`},
		{answer: "none", later: time.Second, want: "two"},
	} {
		waiting, broken, failed, answer, asked = step.waiting, step.broken, step.failed, step.answer, nil
		clock = clock.Add(step.later)
		text, err := p.Text(t.Context())
		if err != nil {
			text = "error: " + err.Error()
		}
		if code := strings.Join(asked, ""); !strings.Contains(text, step.want) || !strings.Contains(code, step.asks) || (code == "") != (step.asks == "") {
			t.Errorf("%d: %q, after %q", i, text, asked)
		}
	}
}
