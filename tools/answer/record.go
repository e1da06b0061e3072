package answer

import (
	"encoding/json"
	"slices"
	"strings"

	"understudy/sessions"
)

const (
	// shedSlack is what the notes on the last steps may add after the measuring.
	shedSlack = 2000
	// How many of a deep stack, and of very many figures, artifacts and notes, an oversized
	// record keeps.
	shownFrames, shownFigures, someArtifacts, shownNotes = 20, 100, 100, 6
)

// record returns the result as programs get it, and how it travels: within the same budgets
// as the text, and with what only a reader's side can add. advice is what the text says to do
// next: some frameworks (pydantic-ai) show their model the record in its place. The result
// itself stays as it is, because others hold it too. There is none of a result that is too
// large for a record.
func (b *Renderer) record(f Profile, result *sessions.Result, advice []string) (*sessions.Result, json.RawMessage) {
	r := *result
	r.Notes = append(slices.Clone(r.Notes), advice...)
	streams := share(f.Text, len(r.Stdout), len(r.Stderr)) // bytes; characters are no more
	cutStreams(&r, streams[0], streams[1])
	r.Between, _ = Cut(r.Between, f.Text/4, 0)
	r.Traceback, _ = Cut(r.Traceback, f.Text/2, 0)
	r.ResultType, r.ExcType = Clip(r.ResultType, longestName), Clip(r.ExcType, longestName)
	r.TermOut = b.termOut(f, &r)
	NoNulls(&r)
	encoded, err := Shed(&r, f.Bytes/2)
	if err != nil {
		b.Logger.Error("record can't be encoded", "interpreter", r.InterpreterID, "execution", r.Execution, "error", err)
		return nil, nil
	}
	if len(encoded) > f.Bytes/2+shedSlack {
		b.Logger.Warn("record left out, too large", "interpreter", r.InterpreterID, "execution", r.Execution, "bytes", len(encoded))
		return nil, nil
	}
	return &r, encoded
}

// cutStreams keeps so many characters of each stream, and counts what it drops.
func cutStreams(r *sessions.Result, stdout, stderr int) {
	var out, err int64
	r.Stdout, out = Cut(r.Stdout, stdout, r.StdoutTruncated)
	r.Stderr, err = Cut(r.Stderr, stderr, r.StderrTruncated)
	r.StdoutTruncated, r.StderrTruncated = r.StdoutTruncated+out, r.StderrTruncated+err
}

// termOut is the output once more, in order of arrival, with the traceback, for programs
// that read experiments, and for those of an operator who asked for all; nil for others, which
// would pay for everything twice.
func (b *Renderer) termOut(f Profile, r *sessions.Result) []string {
	if !b.Trials && b.StructuredContent != StructuredAlways {
		return nil
	}
	var gap int64 // how much of both streams sessions has left out
	for _, p := range r.Pieces {
		gap += p.Gap
	}
	lines := append([]string{}, r.TermOut...)
	if text, dropped := Cut(strings.Join(lines, ""), f.Text, gap); dropped > 0 {
		lines = []string{text}
	}
	lines = r.Terminal(lines)
	if !r.Status.Runs() {
		lines = append(lines, r.TimeLine())
	}
	return lines
}

// NoNulls fills in what the schema says is an array.
func NoNulls(r *sessions.Result) {
	if r.ExcInfo != nil && r.ExcInfo.Args == nil {
		info := *r.ExcInfo
		info.Args = []json.RawMessage{}
		r.ExcInfo = &info
	}
}

// Shed makes a record smaller than limit bytes, as far as it can, and notes what it
// dropped. It returns the record as it travels, encoded once where it is small; nil when it
// can't be encoded.
func Shed(r *sessions.Result, limit int) (encoded json.RawMessage, err error) {
	for _, step := range []struct {
		what string
		drop func(r *sessions.Result, limit int) (dropped bool)
	}{
		{"most of a long result, which is now text", cutValue},
		{"arguments of the exception, outer frames, names of variables and most of all that is long or many", dropDetails},
	} {
		if encoded, err = json.Marshal(r); err != nil || len(encoded) <= limit {
			return encoded, err
		}
		if step.drop(r, limit) {
			r.Notes = append(slices.Clone(r.Notes), "left out here to keep the record small: "+step.what)
		}
	}
	return json.Marshal(r)
}

// cutValue makes a text of a value that takes an eighth of a record or more.
func cutValue(r *sessions.Result, limit int) (dropped bool) {
	text, left := Cut(string(r.Result), limit/8, 0)
	if encoded, err := json.Marshal(text); err == nil && left > 0 {
		r.Result, r.ResultEncoding = encoded, "repr"
		return true
	}
	return false
}

// dropDetails keeps of everything what a reader can least do without. Slices are copied
// before they are written to: others hold the result too.
func dropDetails(r *sessions.Result, limit int) (dropped bool) {
	if r.ExcInfo != nil {
		r.ExcInfo = &sessions.ExceptionInfo{
			Args: []json.RawMessage{},
			Name: Clip(r.ExcInfo.Name, longestName), Msg: Clip(r.ExcInfo.Msg, 2000), Obj: Clip(r.ExcInfo.Obj, longestName),
		}
	}
	r.ExcStack = slices.Clone(r.ExcStack[max(0, len(r.ExcStack)-shownFrames):])
	for i, frame := range r.ExcStack {
		frame.File, frame.Function, frame.Text = Clip(frame.File, 500), Clip(frame.Function, longestName), Clip(frame.Text, 500)
		r.ExcStack[i] = frame
	}
	r.TermOut = r.TermOut[max(0, len(r.TermOut)-1):] // the line that says how long it took
	r.Variables = nil
	if calls := r.ToolCalls; calls != nil {
		r.ToolCalls = &sessions.ToolCalls{Count: calls.Count, Failed: calls.Failed, ByTool: map[string]int{}}
	}
	r.Artifacts = slices.Clone(r.Artifacts[:min(someArtifacts, len(r.Artifacts))])
	for i := range r.Artifacts {
		r.Artifacts[i].Preview = Clip(r.Artifacts[i].Preview, 200)
	}
	r.Figures = r.Figures[:min(shownFigures, len(r.Figures))]
	r.FigStoragePath = r.FigStoragePath[:min(shownFigures, len(r.FigStoragePath))]
	r.Notes = slices.Clone(r.Notes[:min(shownNotes, len(r.Notes))])
	for i, note := range r.Notes {
		r.Notes[i] = Clip(note, 500)
	}
	cutStreams(r, limit/20, limit/20)
	r.Traceback, _ = Cut(r.Traceback, limit/20, 0)
	r.RestartReason, _ = Cut(r.RestartReason, limit/20, 0)
	return true // what is too large by none of these is too large for any step
}
