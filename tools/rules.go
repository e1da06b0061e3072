package tools

// Rules are what a model is told of the policy, so that it need not learn it by a
// refusal. They are those of everybody, as the server starts with them: what holds
// for one principal, or since then, a refusal says.
type Rules struct {
	NoShell bool // !command is refused
	NoPip   bool // %pip install is refused
}

// notebookLines tells of lines that are no Python, as far as code may have them. Behind
// a wall they are the way to install: the environment that a pip in a child process
// would install into, the server's, is read-only there.
func (o Options) notebookLines() string {
	rules := o.Rules
	if rules == nil {
		rules = &Rules{}
	}
	noPip := rules.NoPip || o.offline() // it would find no package
	installed := "."
	if o.Walls != nil {
		installed = "; pip in a subprocess can't install."
	}
	switch {
	case rules.NoShell && noPip:
		return ""
	case rules.NoShell:
		return "%pip install works" + installed
	case noPip:
		return "!command works; $name in one is Python's."
	}
	return "!command and %pip install work; $name in one is Python's" + installed
}

// ruled tells that there is a policy.
func (o Options) ruled() string {
	switch {
	case o.Rules == nil:
		return ""
	case o.Mode == ModeCLIOnly:
		return "Some commands are not allowed here; a refusal names them, and nothing has run."
	}
	return "Some modules and functions may not be allowed here; a refusal names them, and nothing has run."
}
