package answer

import (
	"regexp"
	"strings"
	"unicode/utf8"

	"understudy/internal/screen"
	"understudy/sessions"
	"understudy/sessions/output"
	"understudy/tools/resources/uri"
)

// printed is what the code printed as it is to be read: in order of arrival, as a terminal
// would show it in the end.
func (v view) printed() []screen.Piece {
	if v.seen != nil {
		return v.seen
	}
	pieces := v.Pieces
	if pieces == nil { // a record from the journal, or one of another's making
		pieces = []screen.Piece{{Stream: int(sessions.Stdout), Text: v.Stdout}, {Stream: int(sessions.Stderr), Text: v.Stderr}}
	}
	short := make([]screen.Piece, len(pieces))
	for i, p := range pieces {
		if short[i] = p; p.Stream == int(sessions.Stderr) {
			short[i].Text = shortWarnings(p.Text)
		}
	}
	return screen.Show(short)
}

// mostTurns is how often the stream changes in a text that names it each time. A log on
// stderr among prints would cost a model a line for each of its own.
const mostTurns = 6

// inOrder is one text of pieces, with a line where the stream changes, or one line above it
// where it often does. gap is what sessions left out in it.
func inOrder(pieces []screen.Piece) (text string, gap int64) {
	var b strings.Builder
	stream := int(sessions.Stdout)
	mixed := turns(pieces) > mostTurns
	if mixed {
		b.WriteString("[stdout and stderr]\n")
	}
	endLine := func() {
		if b.Len() > 0 && !strings.HasSuffix(b.String(), "\n") {
			b.WriteByte('\n')
		}
	}
	for _, p := range pieces {
		if p.Gap > 0 {
			b.WriteString(output.Marker(p.Gap))
			gap = p.Gap
		}
		if p.Stream != stream && p.Text != "" {
			endLine()
			if !mixed {
				b.WriteString(label(p.Stream))
			}
			stream = p.Stream
		}
		b.WriteString(p.Text)
	}
	return b.String(), gap
}

// turns counts how often the stream changes, which begins as stdout.
func turns(pieces []screen.Piece) (n int) {
	stream := int(sessions.Stdout)
	for _, p := range pieces {
		if p.Text != "" && p.Stream != stream {
			n, stream = n+1, p.Stream
		}
	}
	return n
}

func label(stream int) string { return "[" + sessions.Stream(stream).String() + "]\n" }

// output is what the code printed, in at most room characters of words, fewer of numbers.
func (v view) output(room int) string {
	pieces := v.printed()
	text, gap := inOrder(pieces)
	whole := text
	text, dropped := Cut(whole, affordable(whole, room), gap)
	if dropped > 0 {
		text = relabelled(whole, text, output.Marker(gap+dropped))
	}
	cut := v.lost()
	if dropped+gap > 0 {
		for _, p := range pieces {
			cut[p.Stream] = cut[p.Stream] || p.Text != ""
		}
	}
	if v.cut != nil {
		*v.cut = cut
	}
	return Sections(text, v.whole(cut))
}

// relabelled names the stream of what follows the marker in a text that was cut, where it is
// another than before.
func relabelled(whole, short, marker string) string {
	head, tail, _ := strings.Cut(short, marker)
	stream := streamAt(whole[:len(whole)-len(tail)])
	if stream == streamAt(head) {
		return short
	}
	return head + marker + label(stream) + tail
}

// streamAt is the stream that the last label in text names.
func streamAt(text string) int {
	text = "\n" + text
	out, err := strings.LastIndex(text, "\n"+label(int(sessions.Stdout))), strings.LastIndex(text, "\n"+label(int(sessions.Stderr)))
	if err > out {
		return int(sessions.Stderr)
	}
	return int(sessions.Stdout)
}

// lost are the streams of which sessions left something out.
func (v view) lost() [2]bool { return [2]bool{v.StdoutTruncated > 0, v.StderrTruncated > 0} }

// whole says where all of the output is, of which some was cut.
func (v view) whole(cut [2]bool) string {
	var places []string
	for stream, some := range cut {
		switch {
		case !some || v.InterpreterID == "":
		case len(places) > 0:
			places = append(places, "…/"+sessions.Stream(stream).String())
		default:
			places = append(places, uri.OfOutput(v.InterpreterID, v.Execution, sessions.Stream(stream)))
		}
	}
	if v.OutputPath != "" && cut != [2]bool{} { // not every model can read resources; code can read files
		places = append(places, "file "+v.OutputPath)
	}
	if len(places) == 0 {
		return ""
	}
	return "[whole output] " + strings.Join(places, ", ")
}

// characters counts what is to be read of the output.
func characters(pieces []screen.Piece) int {
	text, _ := inOrder(pieces)
	return utf8.RuneCountInString(text)
}

// between is what was printed since the run before, above what this one printed.
func (v view) between() string {
	if v.Between == "" {
		return ""
	}
	text, _ := Cut(screen.Text(v.Between), v.budget/4, 0)
	text = "[between calls]\n" + text
	if v.Stdout != "" || v.Stderr != "" {
		text = strings.TrimSuffix(text, "\n") + "\n[this call]\n"
	}
	return text
}

var (
	// warned is the beginning of a warning of a library, with the directory where it is installed.
	warned = regexp.MustCompile(`(?m)^[^\n:]*/(?:site|dist)-packages/([^\n:]+:\d+: \w+: )`)
	// warns is the line of source below it that says no more than that it warns.
	warns = regexp.MustCompile(`(?m)^  (?:_?warnings\.)?warn\(\n`)
)

// shortWarnings takes out of what libraries warn of what only tells where they are installed.
func shortWarnings(text string) string {
	if !strings.Contains(text, "-packages/") {
		return text
	}
	if short := warned.ReplaceAllString(text, "$1"); short != text {
		return warns.ReplaceAllString(short, "")
	}
	return text
}
