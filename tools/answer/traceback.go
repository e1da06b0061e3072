package answer

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"understudy/internal/phrase"
)

// A traceback as Python prints it: the line of a frame, which in a group of exceptions has
// a bar before it, and the file of a library in it.
var (
	frameLine   = regexp.MustCompile(`^([ |+]*)File "([^"]+)", line \d+, in `)
	inPackages  = regexp.MustCompile(`^.*[/\\](?:site|dist)-packages[/\\](.+)$`)
	ofPython    = regexp.MustCompile(`^.*[/\\](?:lib(?:64)?[/\\]python3[^/\\]*|Lib)[/\\](.+)$`)
	ofInterpret = regexp.MustCompile(`^<frozen ([\w.]+)>$`)
	ofCython    = regexp.MustCompile(`^[^/\\].*\.p(?:yx|xi|xd)$`)
)

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
			f, ok := frameAt(lines[i:], frames)
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

// frameAt reads the frame that lines begin with; before are those above it.
func frameAt(lines []string, before []frame) (frame, bool) {
	at := frameLine.FindStringSubmatchIndex(lines[0])
	if at == nil {
		return frame{}, false
	}
	f := frame{indent: lines[0][at[2]:at[3]]}
	file := lines[0][at[4]:at[5]]
	library, within := libraryOf(file)
	f.library = library
	if f.library != "" && ofCython.MatchString(file) && !strings.ContainsAny(file, `/\`) && len(before) > 0 && before[len(before)-1].library != "" {
		f.library = before[len(before)-1].library // which was compiled without its folder's name
	}
	f.lines = []string{lines[0][:at[4]] + within + lines[0][at[5]:]}
	n := 1
	for n < len(lines) && (strings.HasPrefix(lines[n], f.indent+"  ") || strings.HasPrefix(lines[n], f.indent+"[Previous line repeated")) {
		n++
	}
	f.lines = append(f.lines, lines[1:n]...)
	return f, true
}

// libraryOf is the package whose file it is, "" for one of the user's, and the file's name
// within the folder of packages.
func libraryOf(file string) (name, within string) {
	switch {
	case inPackages.MatchString(file):
		within = inPackages.ReplaceAllString(file, "$1")
	case ofPython.MatchString(file):
		within = ofPython.ReplaceAllString(file, "$1")
	case ofInterpret.MatchString(file):
		name, _, _ = strings.Cut(ofInterpret.ReplaceAllString(file, "$1"), ".")
		return name, file
	case ofCython.MatchString(file):
		within = file
	default:
		return "", file
	}
	name = within
	if i := strings.IndexAny(name, `/\`); i >= 0 {
		name = name[:i]
	}
	name, _, _ = strings.Cut(name, ".")
	return name, within
}

// fold writes frames that stand together, the outermost first.
func fold(b *strings.Builder, frames []frame) {
	for len(frames) > 0 {
		n := slices.IndexFunc(frames, func(f frame) bool { return f.library == "" })
		if n < 0 {
			n = len(frames)
		}
		hidden, shown := frames[:n], frames[n:]
		if len(shown) > 0 {
			frames, shown = shown[1:], shown[:1]
		} else {
			hidden, shown, frames = frames[:n-1], frames[n-1:], nil
		}
		if len(hidden) > 0 {
			fmt.Fprintf(b, "%s… %s in %s\n", hidden[0].indent, phrase.Count(len(hidden), "frame"), librariesOf(hidden))
		}
		for _, f := range shown {
			for _, line := range f.lines {
				b.WriteString(line)
			}
		}
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
