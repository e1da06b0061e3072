package answer

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"understudy/internal/phrase"
)

// frameLine is that of a frame in a traceback as Python prints it, which in a group of
// exceptions has a bar before it.
var frameLine = regexp.MustCompile(`^([ |+]*)File "([^"]+)", line \d+, in `)

// libraries are the files of libraries: in a folder of packages, of Python itself, frozen
// modules, and Cython's, which have no folder.
var libraries = []*regexp.Regexp{
	regexp.MustCompile(`^.*[/\\](?:site|dist)-packages[/\\](.+)$`),
	regexp.MustCompile(`^.*[/\\](?:lib(?:64)?[/\\]python3[^/\\]*|Lib)[/\\](.+)$`),
	regexp.MustCompile(`^<frozen ([\w.]+)>$`),
	regexp.MustCompile(`^([^/\\].*\.p(?:yx|xi|xd))$`),
}

// frame is a frame of a traceback with its lines.
type frame struct {
	lines   []string
	indent  string
	library string // the package that it is of; "" in the user's code
}

// folded is a traceback without the inner life of libraries: of frames of theirs that
// follow one another one line tells, and the innermost stays, which says what they
// disliked. The user's stay as they are.
func folded(trace string) string {
	lines := strings.SplitAfter(trace, "\n")
	var b strings.Builder
	for i := 0; i < len(lines); {
		var frames []frame
		for i < len(lines) {
			f, ok := frameAt(lines[i:])
			if !ok {
				break
			}
			frames = append(frames, f)
			i += len(f.lines)
		}
		fold(&b, frames)
		if i < len(lines) {
			b.WriteString(lines[i])
			i++
		}
	}
	return b.String()
}

// frameAt reads the frame that lines begin with.
func frameAt(lines []string) (f frame, ok bool) {
	at := frameLine.FindStringSubmatchIndex(lines[0])
	if at == nil {
		return frame{}, false
	}
	f.indent = lines[0][at[2]:at[3]]
	library, within := libraryOf(lines[0][at[4]:at[5]])
	f.library = library
	n := 1
	for n < len(lines) && (strings.HasPrefix(lines[n], f.indent+"  ") || strings.HasPrefix(lines[n], f.indent+"[Previous line repeated")) {
		n++
	}
	f.lines = append([]string{lines[0][:at[4]] + within + lines[0][at[5]:]}, lines[1:n]...)
	return f, true
}

// libraryOf is the package whose file it is, "" for one of the user's, and the file's name
// within the folder of packages.
func libraryOf(file string) (name, within string) {
	for _, place := range libraries {
		found := place.FindStringSubmatch(file)
		if found == nil {
			continue
		}
		name, within = found[1], found[1]
		if i := strings.IndexAny(name, `/\.`); i >= 0 {
			name = name[:i]
		}
		if strings.HasPrefix(file, "<") {
			within = file
		}
		return name, within
	}
	return "", file
}

// fold writes frames that stand together, the outermost first.
func fold(b *strings.Builder, frames []frame) {
	hidden := 0 // frames of libraries above this one
	for i, f := range frames {
		if f.library != "" && i < len(frames)-1 {
			hidden++
			continue
		}
		if above := frames[i-hidden : i]; hidden > 0 {
			fmt.Fprintf(b, "%s… %s in %s\n", above[0].indent, phrase.Count(hidden, "frame"), librariesOf(above))
			hidden = 0
		}
		b.WriteString(strings.Join(f.lines, ""))
	}
}

// librariesOf names the packages of frames, at most three.
func librariesOf(frames []frame) string {
	var names []string
	for _, f := range frames {
		if !slices.Contains(names, f.library) {
			names = append(names, f.library)
		}
	}
	if len(names) > 3 {
		names = append(names[:3], "…")
	}
	return strings.Join(names, ", ")
}
