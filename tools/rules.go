package tools

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
	case rules.NoPip || o.offline(): // it would find no package
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
