package tools

import (
	"fmt"
	"slices"
	"strings"

	"github.com/dustin/go-humanize"

	"understudy/internal/phrase"
	"understudy/sessions"
	"understudy/tools/answer"
)

// describe fills the operator's figures into a description.
func (b *toolbox) describe(text string) string {
	return strings.TrimSpace(strings.NewReplacer(
		"{wait}", phrase.Duration(b.DefaultWait),
		"{timeout}", word(b.DefaultTimeout < 0, "as long as it takes", phrase.Duration(b.DefaultTimeout)),
		"{history}", b.depth(),
		"{characters}", humanize.Comma(int64(answer.SmallestText(b.Answers.TextBudget))),
		"{lines}", b.notebookLines(),
		"{rules}\n", item(b.ruled()),
		"{walls}\n", item(b.walled()),
		// Whose the files are that code works on.
		"{files}\n", item(word(b.FilesEnd, "Files in the working directory are deleted with the interpreter.",
			word(b.SharedFiles, "The working directory has the user's own files; it is shared and lasts.", ""))),
		"{branch_files}", word(b.SharedFiles, " (files are shared)", " and working directory"),
		"{branch_only_files}", word(b.SharedFiles, ", which works on the same files", " with a copy of the working directory"),
		"{delete_files}", word(b.FilesEnd, " with its files", ""),
		"{trials}\n", item(word(b.Trials, aboutTrials, "")),
	).Replace(b.inMode(b.withoutUntold(text))))
}

// item is a line of a description's list, none for an empty text.
func item(text string) string { return word(text != "", "- "+text+"\n", "") }

// depth says how far undo goes back.
func (b *toolbox) depth() string {
	switch b.History {
	case 0:
		return "turned off here (--history 0)"
	case 1:
		return "one run back, not more"
	default:
		return fmt.Sprintf("up to %d runs back, one with each call", b.History)
	}
}

// withoutUntold leaves out the lines "- name: …" of operations that this server does not have,
// or that are of no use there.
func (b *toolbox) withoutUntold(text string) string {
	for _, o := range operations {
		before, line, found := strings.Cut(text, "- "+o.name+": ")
		if found && !o.isTold(b.Options) {
			_, after, _ := strings.Cut(line, "\n")
			text = before + after
		}
	}
	return text
}

// word is one of two.
func word(condition bool, yes, no string) string {
	if condition {
		return yes
	}
	return no
}

// Rules are what a model is told of the policy, so that it need not learn it by a
// refusal. They are those of everybody, as the server starts with them: what holds
// for one principal, or since then, a refusal says.
type Rules struct {
	NoShell bool // !command is refused
	NoPip   bool // %pip install is refused
}

// notebookLines tells of what a cell may have that is no Python, as far as it may. Behind
// a wall %pip is the way to install: the environment that a pip in a child process would
// install into, the server's, is read-only there.
func (o Options) notebookLines() string {
	rules := o.Rules
	if rules == nil {
		rules = &Rules{}
	}
	lines := "%magics, "
	switch {
	case rules.NoPip || o.Walls != nil && len(o.Walls.Network) == 0: // it would find no package
	case o.Walls != nil:
		lines += "%pip install (a pip in a subprocess can't), "
	default:
		lines += "%pip install, "
	}
	if !rules.NoShell {
		lines += "!commands with Python's $names, "
	}
	return lines
}

// ruled tells that there is a policy.
func (o Options) ruled() string {
	switch {
	case o.Rules == nil:
		return ""
	case o.Mode == ModeCLIOnly:
		return "Some commands are not allowed here; a refusal names them, and nothing has run."
	}
	return "A policy may not allow some modules and functions; a refusal names them, and nothing has run."
}

// Walls are what a model is told of the sandbox, so that it need not try what can't be.
type Walls struct {
	// Network are the hosts that code may reach, sessions.NetworkAll for all; none if
	// empty.
	Network []string
	// Write are paths that it may write to beside its own.
	Write []string
	// Secrets are those that code can use and does not read.
	Secrets []Secret
}

// Secret is the name of a variable with a placeholder, and the hosts in requests to which it
// is good.
type Secret struct {
	Name  string
	Hosts []string
}

// mostToldOfWalls is how many hosts, and paths, are named; more are only counted.
const mostToldOfWalls = 5

// walled tells that there is a sandbox.
func (o Options) walled() string {
	if o.Walls == nil {
		return ""
	}
	text := "There is no network"
	switch {
	case slices.Contains(o.Walls.Network, sessions.NetworkAll):
		text = "The network can be used"
	case len(o.Walls.Network) > 0:
		text = "The network reaches only " + few(o.Walls.Network)
	}
	text += "; files can be written only in the working and the temporary directory"
	if len(o.Walls.Write) > 0 {
		text += ", and in " + few(o.Walls.Write)
	}
	text += "."
	for _, secret := range o.Walls.Secrets[:min(len(o.Walls.Secrets), mostToldOfWalls)] {
		text += fmt.Sprintf(" Environment variable %s works in requests to %s; its value is a placeholder.", secret.Name, few(secret.Hosts))
	}
	return text
}

func few(names []string) string {
	shown := min(len(names), mostToldOfWalls)
	return answer.SomeNames(names[:shown], len(names)-shown)
}
