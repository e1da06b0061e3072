package report

import (
	"cmp"
	"encoding/json"
	"fmt"
	"regexp"
	"strings"

	"understudy/internal/journal"
	"understudy/sessions"
)

// wholeLimit is how long a stream's text may be, in bytes, to be taken from its file
// as a whole. Of a longer one head and tail are shown.
const wholeLimit = 1 << 20

// imageLimit is how large a file may be, in bytes, to be put into a page or notebook.
const imageLimit = 32 << 20

// The kinds of outputs.
const (
	outputStream = "stream" // Name is stdout or stderr
	outputImage  = "image"  // of type MIME, Text is its title
	outputPage   = "page"   // HTML in Data, Text says what is in it
	outputText   = "text"   // what is said of something that can't be shown
	outputError  = "error"  // Name is the exception's class, Value its message, Text the traceback
)

// output is something that an execution gave.
type output struct {
	Kind, Name, MIME, Value, Text string
	Data                          []byte
}

// outputs returns what an execution gave: text in the order of its arrival as far as
// that is known, then images, other artifacts, what a plugin returned, and the exception.
func outputs(e journal.Execution) []output {
	if e.Detail == nil {
		return nil
	}
	all := printed(e.Detail)
	for _, i := range images(e) {
		data, problem := readFile(i.From)
		title := cmp.Or(i.Title, "Figure")
		if problem != "" {
			all = append(all, output{Kind: outputText, Text: fmt.Sprintf("[%s: %s]", title, problem)})
			continue
		}
		all = append(all, output{Kind: outputImage, MIME: i.MIME, Text: title, Data: data})
	}
	for _, a := range e.Detail.Artifacts {
		if shown[a.MIMEType] == "" {
			all = append(all, artifactOf(a))
		}
	}
	record := e.Detail.Record
	if e.Kind == sessions.RunsPlugin && len(record.Result) > 0 {
		all = append(all, output{Kind: outputText, Text: string(record.Result)})
	}
	if record.ExcType != "" {
		all = append(all, errorOf(record))
	}
	return all
}

// printed returns the text of both streams.
func printed(d *journal.Detail) []output {
	stdout, stdoutNote := whole(d.Stdout, "stdout")
	stderr, stderrNote := whole(d.Stderr, "stderr")
	all, ordered := inOrder(d.TermOut, stdout, stderr)
	if !ordered {
		all = []output{
			{Kind: outputStream, Name: "stdout", Text: stdout}, {Kind: outputStream, Name: "stderr", Text: stderr},
		}
	}
	all = append(all, output{Kind: outputText, Text: stdoutNote}, output{Kind: outputText, Text: stderrNote})
	some := all[:0]
	for _, o := range all {
		if o.Text != "" {
			some = append(some, o)
		}
	}
	return some
}

// whole returns the text of a stream, and a note if that is not all of it.
func whole(o journal.Output, name string) (text, note string) {
	text = o.Text
	if o.Path == "" && o.Lost == 0 {
		return text, ""
	}
	if o.Path != "" && o.Size <= wholeLimit {
		if read, problem := readFile(o.Path); problem == "" {
			text = strings.ToValidUTF8(string(read), "�")
			if o.Lost == 0 {
				return text, ""
			}
		}
	}
	note = fmt.Sprintf("[this is not all of %s: it had %d bytes", name, o.Size+o.Lost)
	if o.Path != "" {
		note += "; what was kept is in " + o.Path
	}
	return text, note + "]"
}

// inOrder cuts both texts at the places where the output went from one stream to the
// other. pieces are the streams' texts by turns, the first of either, maybe with
// lines behind them that nobody printed. It returns false if they aren't the texts.
func inOrder(pieces []string, stdout, stderr string) ([]output, bool) {
	names := [2]string{"stdout", "stderr"}
	for first := range 2 {
		rest := [2]string{stdout, stderr}
		var all []output
		for i, piece := range pieces {
			stream := (first + i) % 2
			after, found := strings.CutPrefix(rest[stream], piece)
			if !found || piece == "" {
				break
			}
			rest[stream] = after
			all = append(all, output{Kind: outputStream, Name: names[stream], Text: piece})
		}
		if rest == [2]string{} {
			return all, true
		}
	}
	return nil, false
}

// artifactOf is an artifact that is no image as it can be shown, else what is in it.
func artifactOf(a journal.Artifact) output {
	said := strings.TrimRight(fmt.Sprintf("%s (%s)\n%s", a.Name, a.Kind, a.Preview), "\n")
	if a.MIMEType == "text/html" {
		if data, problem := readFile(a.File); problem == "" {
			return output{Kind: outputPage, Text: said, Data: data}
		}
	}
	return output{Kind: outputText, Text: strings.TrimRight(said+"\n"+a.File, "\n")}
}

func errorOf(r sessions.Result) output {
	name := r.ExcType[strings.LastIndexByte(r.ExcType, '.')+1:]
	text := strings.TrimRight(cmp.Or(r.Traceback, name), "\n")
	return output{Kind: outputError, Name: name, Value: message(r, name), Text: text}
}

// message is an exception's message: what follows its class in the traceback, else
// its first argument.
func message(r sessions.Result, name string) string {
	class := regexp.MustCompile(`(?m)^(?:[\w.]+\.)?` + regexp.QuoteMeta(name) + `: `)
	if found := class.FindAllStringIndex(r.Traceback, -1); found != nil {
		return strings.TrimRight(r.Traceback[found[len(found)-1][1]:], "\n")
	}
	var text string
	if r.ExcInfo != nil && len(r.ExcInfo.Args) > 0 && json.Unmarshal(r.ExcInfo.Args[0], &text) != nil {
		return string(r.ExcInfo.Args[0])
	}
	return text
}
