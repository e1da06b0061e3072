package tools

import (
	"encoding/base64"
	"encoding/json"
	"slices"
	"strings"

	"understudy/sessions"
)

// shedSlack is what the notes on the last steps may add after the measuring.
const shedSlack = 2000

// shownFrames is how many frames of a deep stack an oversized record keeps.
const shownFrames = 20

// shownFigures is how many figures an oversized record lists.
const shownFigures = 100

// record returns the result as programs get it: within the same budgets as the
// text, and with what only a reader's side can add. advice is what the text says
// to do next: some frameworks (pydantic-ai) show their model the record in its
// place. The result itself stays as it is, because others hold it too. There is no record, nil, of a result that
// is too large for one. size is what it takes in a message.
func (b *toolbox) record(f Fit, result *sessions.Result, advice []string) (record *sessions.Result, size int) {
	r := *result
	r.Notes = append(slices.Clone(r.Notes), advice...)
	streams := share(f.Text, len(r.Stdout), len(r.Stderr)) // bytes; characters are no more
	var dropped int64
	r.Stdout, dropped = cut(r.Stdout, streams[0], r.StdoutTruncated)
	r.StdoutTruncated += dropped
	r.Stderr, dropped = cut(r.Stderr, streams[1], r.StderrTruncated)
	r.StderrTruncated += dropped
	r.Between, _ = cut(r.Between, f.Text/4, 0)
	r.Traceback, _ = cut(r.Traceback, f.Text/2, 0)
	r.ResultType, r.ExcType = clip(r.ResultType, longestName), clip(r.ExcType, longestName)
	r.TermOut = b.termOut(f, &r)
	noNulls(&r)
	if size = shed(&r, f.Bytes/2); size > f.Bytes/2+shedSlack {
		b.Logger.Warn("record left out: it is too large", "interpreter", r.InterpreterID, "execution", r.Execution, "bytes", size)
		return nil, 0
	}
	return &r, size
}

// termOut is the output once more, in order of arrival, with the traceback, for programs
// that read experiments, and for those of an operator who asked for all; nil for others, which
// would pay for everything twice.
func (b *toolbox) termOut(f Fit, r *sessions.Result) []string {
	if !b.Trials && b.StructuredContent != StructuredAlways {
		return nil
	}
	lines := append([]string{}, r.TermOut...)
	if text, dropped := cut(strings.Join(lines, ""), f.Text, gap(r)); dropped > 0 {
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

// noNulls fills in what the schema says is an array.
func noNulls(r *sessions.Result) {
	if r.ExcInfo != nil && r.ExcInfo.Args == nil {
		info := *r.ExcInfo
		info.Args = []json.RawMessage{}
		r.ExcInfo = &info
	}
}

// sheddings are the steps that make an oversized record smaller, what a reader
// can best do without first. Each reports whether there was anything to drop.
var sheddings = []struct {
	what string
	drop func(r *sessions.Result, limit int) bool
}{
	{"the arguments of the exception", dropArguments},
	{"all but the innermost frames of the stack", dropFrames},
	{"the output in order of arrival", dropTermOut},
	{"the names of the variables that changed", dropVariables},
	{"most of the previews of artifacts", dropPreviews},
	{"the middle of the result, which is now text", excerptResult},
	{"most of the notes", dropNotes},
	{"all but the first figures", dropFigures},
	{"most of the output and of the words", dropOutput},
}

// shed makes a record smaller than limit bytes, as far as it can, and notes
// what it dropped. It returns the size that it came to.
func shed(r *sessions.Result, limit int) (size int) {
	r.Notes = append([]string(nil), r.Notes...)
	for _, step := range sheddings {
		if size = travelling(r); size <= limit {
			return size
		}
		if step.drop(r, limit) {
			r.Notes = append(r.Notes, "left out here to keep the record small: "+step.what)
		}
	}
	return travelling(r)
}

func dropArguments(r *sessions.Result, _ int) bool {
	if r.ExcInfo == nil || len(r.ExcInfo.Args) == 0 {
		return false
	}
	r.ExcInfo = &sessions.ExceptionInfo{
		Args: []json.RawMessage{},
		Name: clip(r.ExcInfo.Name, 200), Msg: clip(r.ExcInfo.Msg, 2000), Obj: clip(r.ExcInfo.Obj, 200),
	}
	return true
}

func dropFrames(r *sessions.Result, _ int) bool {
	excess := len(r.ExcStack) - shownFrames
	if excess > 0 {
		r.ExcStack = r.ExcStack[excess:]
	}
	return excess > 0
}

// dropTermOut keeps the line that says how long it took.
func dropTermOut(r *sessions.Result, _ int) bool {
	excess := len(r.TermOut) - 1
	if excess > 0 {
		r.TermOut = r.TermOut[excess:]
	}
	return excess > 0
}

func dropVariables(r *sessions.Result, _ int) bool {
	had := r.Variables != nil
	r.Variables = nil
	return had
}

// excerptResult replaces the result by head and tail of its JSON, as a string.
func excerptResult(r *sessions.Result, limit int) bool {
	text, dropped := cut(string(r.Result), limit/8, 0)
	if dropped == 0 {
		return false
	}
	encoded, err := json.Marshal(text)
	if err != nil {
		return false
	}
	r.Result, r.ResultEncoding = encoded, "repr"
	return true
}

func dropNotes(r *sessions.Result, _ int) bool {
	few := min(len(r.Notes), 5)
	for i, note := range r.Notes[:few] {
		r.Notes[i] = clip(note, 500)
	}
	r.Notes = r.Notes[:few]
	return few > 0
}

func dropFigures(r *sessions.Result, _ int) bool {
	excess := len(r.Figures) > shownFigures
	if excess {
		r.Figures = r.Figures[:shownFigures]
		r.FigStoragePath = r.FigStoragePath[:min(shownFigures, len(r.FigStoragePath))]
	}
	return excess
}

func dropOutput(r *sessions.Result, limit int) bool {
	var stdout, stderr int64
	r.Stdout, stdout = cut(r.Stdout, limit/20, r.StdoutTruncated)
	r.Stderr, stderr = cut(r.Stderr, limit/20, r.StderrTruncated)
	r.StdoutTruncated, r.StderrTruncated = r.StdoutTruncated+stdout, r.StderrTruncated+stderr
	r.Traceback, _ = cut(r.Traceback, limit/20, 0)
	r.RestartReason, _ = cut(r.RestartReason, limit/20, 0)
	r.ExcStack = slices.Clone(r.ExcStack)
	for i, frame := range r.ExcStack {
		r.ExcStack[i].Text, r.ExcStack[i].File, r.ExcStack[i].Function = clip(frame.Text, 500), clip(frame.File, 500), clip(frame.Function, longestName)
	}
	return stdout+stderr > 0
}

// structured returns the record as it travels in an answer, nil when it can't
// be encoded.
func (b *toolbox) structured(r *sessions.Result) json.RawMessage {
	raw, err := json.Marshal(r)
	if err != nil {
		b.Logger.Error("record not encoded", "interpreter", r.InterpreterID, "execution", r.Execution, "error", err)
		return nil
	}
	return raw
}

// dataURI writes a picture as base64_uri has it.
func dataURI(p picture) string {
	return "data:" + p.mimeType + ";base64," + base64.StdEncoding.EncodeToString(p.data)
}
