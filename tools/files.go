package tools

import "fmt"

// tellsOfFiles says whose the files are that code works on.
func (b *toolbox) tellsOfFiles() string {
	switch {
	case b.FilesEnd:
		return "Files in the working directory are deleted with the interpreter."
	case b.SharedFiles:
		return "The working directory has the user's own files; it is shared and lasts."
	}
	return ""
}

// deleted says what has gone with an interpreter.
func (b *toolbox) deleted(id string) reply {
	text := fmt.Sprintf("Deleted interpreter %s; its variables%s are gone.", id, word(b.FilesEnd, " and files", ""))
	return reply{text, map[string]any{"interpreter_id": id}}
}

// word is one of two.
func word(condition bool, yes, no string) string {
	if condition {
		return yes
	}
	return no
}
