package command

import (
	"embed"
	"fmt"
	"io"
	"strings"

	"understudy/internal/config"
)

// completions are the scripts by which shells ask the program what may stand on its line.
//
//go:embed completion
var completions embed.FS

// Completion is the command completion: it prints a shell's script, or, as that script asks,
// what may stand in the place of the last of the words.
func Completion(c *config.Config, out io.Writer) error {
	shell := c.Completion.Shell
	if c.Completion.Words == nil {
		script, err := completions.ReadFile("completion/" + shell)
		if err == nil {
			_, err = out.Write(script)
		}
		return err
	}
	found, err := config.Complete(c.Completion.Words)
	if err != nil {
		return err
	}
	for _, candidate := range found {
		line := candidate.Word
		switch {
		case shell == "fish":
			line += "\t" + candidate.Help
		case shell == "zsh":
			line = strings.ReplaceAll(line, ":", `\:`) + ":" + candidate.Help
		}
		if _, err := fmt.Fprintln(out, line); err != nil {
			return err
		}
	}
	return nil
}
