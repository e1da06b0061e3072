package preview

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// section is what is said of one file, or of the pictures of a directory.
type section struct {
	path string   // below the directory
	head string   // the kind and the dimensions in one line
	full []string // the particulars
	// simple is what stands in their place when all is too long: names alone.
	simple string
	// form tells files apart that have not the same columns; empty is like no other.
	form string
}

// compose writes the full form, else the simple one, else as much of that as fits.
func compose(top *folder, sections []section, o Options) string {
	full := write(top.tree(o.Name, mostLines), sections, section.inFull)
	if utf8.RuneCountInString(full) <= o.Characters {
		return full
	}
	tree := top.tree(o.Name, fewLines)
	for len(tree) > 2 && utf8.RuneCountInString(strings.Join(tree, "\n")) > o.Characters*2/3 {
		tree = top.tree(o.Name, len(tree)/2)
	}
	// The note at the end is shorter than this.
	room := o.Characters - 100
	for shown := len(sections); shown >= 0; shown-- {
		text := write(tree, sections[:shown], section.inShort)
		if utf8.RuneCountInString(text) > room && shown > 0 {
			continue
		}
		if left := len(sections) - shown; left > 0 {
			text += fmt.Sprintf("\n[the descriptions of %s are left out]\n", count(int64(left), "more file"))
		}
		return cut(text, o.Characters)
	}
	return ""
}

func write(tree []string, sections []section, form func(section) []string) string {
	var b strings.Builder
	fence := fenceFor(strings.Join(tree, "\n"))
	b.WriteString(fence + "\n" + strings.Join(tree, "\n") + "\n" + fence + "\n")
	for _, s := range sections {
		fmt.Fprintf(&b, "\n### %s\n%s\n", codeSpan(clean(s.path, 2*mostOfName)), s.head)
		for _, line := range form(s) {
			b.WriteString(line + "\n")
		}
	}
	return b.String()
}

func (s section) inFull() []string { return s.full }

func (s section) inShort() []string {
	if s.simple == "" {
		return nil
	}
	return []string{s.simple}
}

func cut(text string, most int) string {
	if utf8.RuneCountInString(text) <= most {
		return text
	}
	runes := []rune(text)
	const note = "\n[%d characters left out]\n"
	keep := max(0, most-len(note)-8)
	return string(runes[:keep]) + fmt.Sprintf(note, len(runes)-keep)
}

// codeSpan keeps a name that would be Markdown or HTML, such as a picture that a client
// would load, from being any.
func codeSpan(name string) string {
	if !strings.ContainsAny(name, "<>[]!`") {
		return name
	}
	marks := "`"
	for strings.Contains(name, marks) {
		marks += "`"
	}
	return marks + " " + name + " " + marks
}

// fenceFor returns marks around a text that does not hold them.
func fenceFor(text string) string {
	fence := "```"
	for strings.Contains(text, fence) {
		fence += "`"
	}
	return fence
}
