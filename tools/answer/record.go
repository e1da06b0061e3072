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
	// shownFrames, shownFigures and someArtifacts are how many of a deep stack, and of very
	// many figures and artifacts, an oversized record keeps.
	shownFrames, shownFigures, someArtifacts = 20, 100, 100
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
func cutStreams(r *sessions.Result, stdout, stderr int) (dropped int64) {
	var out, err int64
	r.Stdout, out = Cut(r.Stdout, stdout, r.StdoutTruncated)
	r.Stderr, err = Cut(r.Stderr, stderr, r.StderrTruncated)
	r.StdoutTruncated, r.StderrTruncated = r.StdoutTruncated+out, r.StderrTruncated+err
	return out + err
}

// termOut is the output once more, in order of arrival, with the traceback, for programs
// that read experiments, and for those of an operator who asked for all; nil for others, which
// would pay for everything twice.
func (b *Renderer) termOut(f Profile, r *sessions.Result) []string {
	if !b.Trials && b.StructuredContent != StructuredAlways {
		return nil
	}
	lines := append([]string{}, r.TermOut...)
	if text, dropped := Cut(strings.Join(lines, ""), f.Text, gap(r)); dropped > 0 {
		lines = []string{text}
	}
	lines = r.Terminal(lines)
	if !r.Status.Runs() {
		lines = append(lines, r.TimeLine())
	}
	return lines
}

// gap is how much of both streams sessions has left out of term_out.
func gap(r *sessions.Result) (n int64) {
	for _, p := range r.Pieces {
		n += p.Gap
	}
	return n
}

// NoNulls fills in what the schema says is an array.
func NoNulls(r *sessions.Result) {
	if r.ExcInfo != nil && r.ExcInfo.Args == nil {
		info := *r.ExcInfo
		info.Args = []json.RawMessage{}
		r.ExcInfo = &info
	}
}

// sheddings are the steps that make an oversized record smaller, what a reader can best do
// without first. Each reports whether there was anything to drop.
var sheddings = []struct {
	what string
	drop func(r *sessions.Result, limit int) bool
}{
	{"the arguments of the exception", func(r *sessions.Result, _ int) bool {
		if r.ExcInfo == nil || len(r.ExcInfo.Args) == 0 {
			return false
		}
		r.ExcInfo = &sessions.ExceptionInfo{
			Args: []json.RawMessage{},
			Name: Clip(r.ExcInfo.Name, 200), Msg: Clip(r.ExcInfo.Msg, 2000), Obj: Clip(r.ExcInfo.Obj, 200),
		}
		return true
	}},
	{"all but the innermost frames of the stack", func(r *sessions.Result, _ int) bool {
		return keepLast(&r.ExcStack, shownFrames)
	}},
	{"the output in order of arrival", func(r *sessions.Result, _ int) bool {
		return keepLast(&r.TermOut, 1) // the line that says how long it took
	}},
	{"the names of the variables that changed", func(r *sessions.Result, _ int) bool {
		had := r.Variables != nil
		r.Variables = nil
		return had
	}},
	{"most of the previews of artifacts", func(r *sessions.Result, _ int) bool {
		r.Artifacts = slices.Clone(r.Artifacts[:min(someArtifacts, len(r.Artifacts))])
		for i := range r.Artifacts {
			r.Artifacts[i].Preview = Clip(r.Artifacts[i].Preview, 200)
		}
		return len(r.Artifacts) > 0
	}},
	{"the middle of the result, which is now text", func(r *sessions.Result, limit int) bool {
		text, dropped := Cut(string(r.Result), limit/8, 0)
		encoded, err := json.Marshal(text)
		if dropped == 0 || err != nil {
			return false
		}
		r.Result, r.ResultEncoding = encoded, "repr"
		return true
	}},
	{"most of the notes", func(r *sessions.Result, _ int) bool {
		r.Notes = r.Notes[:min(len(r.Notes), 5)]
		for i, note := range r.Notes {
			r.Notes[i] = Clip(note, 500)
		}
		return len(r.Notes) > 0
	}},
	{"all but the first figures", func(r *sessions.Result, _ int) bool {
		excess := len(r.Figures) > shownFigures
		r.Figures = r.Figures[:min(shownFigures, len(r.Figures))]
		r.FigStoragePath = r.FigStoragePath[:min(shownFigures, len(r.FigStoragePath))]
		return excess
	}},
	{"most of the output and of the words", func(r *sessions.Result, limit int) bool {
		dropped := cutStreams(r, limit/20, limit/20)
		r.Traceback, _ = Cut(r.Traceback, limit/20, 0)
		r.RestartReason, _ = Cut(r.RestartReason, limit/20, 0)
		r.ExcStack = slices.Clone(r.ExcStack)
		for i, frame := range r.ExcStack {
			r.ExcStack[i].Text, r.ExcStack[i].File = Clip(frame.Text, 500), Clip(frame.File, 500)
			r.ExcStack[i].Function = Clip(frame.Function, longestName)
		}
		return dropped > 0
	}},
}

// keepLast leaves the last items of a list, and reports whether there were more.
func keepLast[T any](all *[]T, most int) bool {
	excess := len(*all) - most
	*all = (*all)[max(0, excess):]
	return excess > 0
}

// Shed makes a record smaller than limit bytes, as far as it can, and notes what it
// dropped. It returns the record as it travels, encoded once where it is small; nil when it
// can't be encoded.
func Shed(r *sessions.Result, limit int) (encoded json.RawMessage, err error) {
	r.Notes = slices.Clone(r.Notes)
	for _, step := range sheddings {
		if encoded, err = json.Marshal(r); err != nil || len(encoded) <= limit {
			return encoded, err
		}
		if step.drop(r, limit) {
			r.Notes = append(r.Notes, "left out here to keep the record small: "+step.what)
		}
	}
	return json.Marshal(r)
}
