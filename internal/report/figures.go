package report

import (
	"errors"
	"fmt"
	"mime"
	"os"
	"path"
	"path/filepath"
	"regexp"

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

// images returns the images of an execution, named by the trial or the execution. They
// are read from the journal's files only: where they were made, the session's code may
// have put a link to any other file since.
func images(e journal.Execution) []picture {
	if e.Detail == nil {
		return nil
	}
	var found []picture
	add := func(file, kind, title string) {
		name := fmt.Sprintf("%s-%d%s", imageStem(e), len(found)+1, extension(file, kind))
		found = append(found, picture{From: file, Name: path.Join(figuresDir, name), MIME: kind, Title: title})
	}
	for _, f := range e.Detail.Figures {
		add(f.File, f.MIMEType, f.Title)
	}
	for _, a := range e.Detail.Artifacts {
		if shown[a.MIMEType] != "" {
			add(a.File, a.MIMEType, a.Name)
		}
	}
	return found
}

// imageStem is how the names of an execution's images begin.
func imageStem(e journal.Execution) string {
	if e.Trial != nil {
		return fmt.Sprintf("trial-%d", e.Trial.Number)
	}
	return fmt.Sprintf("%s-%d", shortID(e.Place.InterpreterID), e.Place.Execution)
}

// shown are the kinds of images that browsers show, with their names' usual ends.
var shown = map[string]string{
	"image/png": ".png", "image/jpeg": ".jpg", "image/gif": ".gif", "image/webp": ".webp", "image/svg+xml": ".svg",
}

var plainExtension = regexp.MustCompile(`^\.[A-Za-z0-9]{1,5}$`)

func extension(file, kind string) string {
	if end := shown[kind]; end != "" {
		return end
	}
	if end := filepath.Ext(file); plainExtension.MatchString(end) {
		return end
	}
	if ends, err := mime.ExtensionsByType(kind); err == nil && len(ends) > 0 {
		return ends[0]
	}
	return ".bin"
}

// imageNames returns the files of an execution's images, as far as they are kept.
func imageNames(e journal.Execution) []string {
	var names []string
	for _, i := range images(e) {
		if i.From != "" {
			names = append(names, i.Name)
		}
	}
	return names
}

// kept looks at a file of the journal. A link is none.
func kept(file string) (os.FileInfo, error) {
	info, err := os.Lstat(file)
	if err == nil && !info.Mode().IsRegular() {
		err = &os.PathError{Op: "open", Path: file, Err: errors.New("is not a regular file")}
	}
	return info, err
}
