package report

import (
	"encoding/json"
	"fmt"
	"os"
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
// that is known, then figures, artifacts, what a plugin returned, and the exception.
func outputs(e journal.Execution) []output {
	if e.Detail == nil {
		return nil
	}
	all := printed(e.Detail)
	for _, f := range e.Detail.Figures {
		all = append(all, imageOf(f.File, f.MIMEType, orElse(f.Title, "Figure")))
	}
	for _, a := range e.Detail.Artifacts {
		all = append(all, artifactOf(a))
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
		all = nil
		for _, o := range []output{streamOf("stdout", stdout), streamOf("stderr", stderr)} {
			if o.Text != "" {
				all = append(all, o)
			}
		}
	}
	for _, note := range []string{stdoutNote, stderrNote} {
		if note != "" {
			all = append(all, output{Kind: outputText, Text: note})
		}
	}
	return all
}

func streamOf(name, text string) output {
	return output{Kind: outputStream, Name: name, Text: text}
}

// whole returns the text of a stream, and a note if that is not all of it.
func whole(o journal.Output, name string) (text, note string) {
	text = o.Text
	if o.Path == "" && o.Lost == 0 && !o.Pending {
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
	} else if o.Pending {
		note += "; the file with the rest is being made"
	}
	return text, note + "]"
}

// inOrder cuts both texts at the places where the output went from one stream to the
// other. pieces are the streams' texts by turns, the first of either, maybe with
// lines behind them that nobody printed. It returns false if they aren't the texts.
func inOrder(pieces []string, stdout, stderr string) ([]output, bool) {
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
			all = append(all, streamOf([]string{"stdout", "stderr"}[stream], piece))
		}
		if rest == [2]string{} {
			return all, true
		}
	}
	return nil, false
}

// imageOf reads a picture.
func imageOf(file, mime, title string) output {
	data, problem := readFile(file)
	if problem != "" {
		return output{Kind: outputText, Text: fmt.Sprintf("[%s: %s]", title, problem)}
	}
	return output{Kind: outputImage, MIME: mime, Text: title, Data: data}
}

// readFile reads a file of the journal, or says why it is not there.
func readFile(file string) (data []byte, problem string) {
	if file == "" {
		return nil, "its file was not kept"
	}
	info, err := kept(file)
	switch {
	case err != nil:
		return nil, "its file is gone: " + file
	case info.Size() > imageLimit:
		return nil, "it is too large to be shown here: " + file
	}
	if data, err = os.ReadFile(file); err != nil {
		return nil, "its file can't be read: " + file
	}
	return data, ""
}

// artifactOf is an artifact as it can be shown, else what is in it.
func artifactOf(a journal.Artifact) output {
	title := fmt.Sprintf("%s (%s)", a.Name, a.Kind)
	if strings.HasPrefix(a.MIMEType, "image/") {
		return imageOf(a.File, a.MIMEType, title)
	}
	said := strings.TrimRight(title+"\n"+a.Preview, "\n")
	if a.MIMEType == "text/html" {
		if data, problem := readFile(a.File); problem == "" {
			return output{Kind: outputPage, Text: said, Data: data}
		}
	}
	if a.File != "" {
		said += "\n" + a.File
	}
	return output{Kind: outputText, Text: said}
}

func errorOf(r sessions.Result) output {
	name := r.ExcType[strings.LastIndexByte(r.ExcType, '.')+1:]
	text := r.Traceback
	if text == "" {
		text = name
	}
	return output{Kind: outputError, Name: name, Value: message(r, name), Text: strings.TrimRight(text, "\n")}
}

// message is an exception's message: what follows its class in the traceback, else
// its first argument.
func message(r sessions.Result, name string) string {
	lines := strings.Split(strings.TrimRight(r.Traceback, "\n"), "\n")
	for i := len(lines) - 1; i >= 0; i-- {
		class, said, found := strings.Cut(lines[i], ": ")
		if found && (class == name || strings.HasSuffix(class, "."+name)) {
			return strings.Join(append([]string{said}, lines[i+1:]...), "\n")
		}
	}
	if r.ExcInfo != nil && len(r.ExcInfo.Args) > 0 {
		var text string
		if json.Unmarshal(r.ExcInfo.Args[0], &text) == nil {
			return text
		}
		return string(r.ExcInfo.Args[0])
	}
	return ""
}

func orElse(text, other string) string {
	if text == "" {
		return other
	}
	return text
}
