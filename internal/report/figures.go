package report

import (
	"errors"
	"fmt"
	"os"
	"path"

	"understudy/internal/journal"
)

// figuresDir is where an experiment's figures are, beside its other files.
const figuresDir = "figures"

// picture is an image that an execution made: a figure, or an artifact that is one.
type picture struct {
	From  string // the file that the journal keeps; "" if it keeps none
	Name  string // its file in the experiment's directory, as "figures/3-1.png"
	MIME  string
	Title string
}

// shown are the kinds of images that browsers show, with their names' usual ends.
var shown = map[string]string{
	"image/png": ".png", "image/jpeg": ".jpg", "image/gif": ".gif", "image/webp": ".webp",
	"image/svg+xml": ".svg", "image/bmp": ".bmp",
}

// images returns the images of an execution, named by the trial or the execution. They
// are read from the journal's files only: where they were made, the session's code may
// have put a link to any other file since.
func images(e journal.Execution) []picture {
	if e.Detail == nil {
		return nil
	}
	stem := fmt.Sprintf("%s-%d", shortID(e.Place.InterpreterID), e.Place.Execution)
	if e.Trial != nil {
		stem = fmt.Sprintf("trial-%d", e.Trial.Number)
	}
	var found []picture
	add := func(file, kind, title string) {
		if end := shown[kind]; end != "" {
			name := fmt.Sprintf("%s-%d%s", stem, len(found)+1, end)
			found = append(found, picture{From: file, Name: path.Join(figuresDir, name), MIME: kind, Title: title})
		}
	}
	for _, f := range e.Detail.Figures {
		add(f.File, f.MIMEType, f.Title)
	}
	for _, a := range e.Detail.Artifacts {
		add(a.File, a.MIMEType, a.Name)
	}
	return found
}

// kept looks at a file of the journal. A link is none.
func kept(file string) (os.FileInfo, error) {
	info, err := os.Lstat(file)
	if err == nil && !info.Mode().IsRegular() {
		err = &os.PathError{Op: "open", Path: file, Err: errors.New("is not a regular file")}
	}
	return info, err
}

// readFile reads a file of the journal, or says why it is not there.
func readFile(file string) (data []byte, problem string) {
	if file == "" {
		return nil, "its file was not kept"
	}
	info, err := kept(file)
	if err == nil && info.Size() > imageLimit {
		return nil, "it is too large to be shown here: " + file
	}
	if err == nil {
		data, err = os.ReadFile(file)
	}
	if err != nil {
		return nil, "its file is gone, or can't be read: " + file
	}
	return data, ""
}
