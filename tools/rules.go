package tools

// Rules are what a model is told of the policy, so that it need not learn it by a
// refusal. They are those of everybody, as the server starts with them: what holds
// for one principal, or since then, a refusal says.
type Rules struct {
	NoShell bool // !command is refused
	NoPip   bool // %pip install is refused
}

// notebookLines tells of lines that are no Python, as far as code may have them.
func (o Options) notebookLines() string {
	rules := o.Rules
	if rules == nil {
		rules = &Rules{}
	}
	noPip := rules.NoPip || o.offline() // it would find no package
	switch {
	case rules.NoShell && noPip:
		return ""
	case rules.NoShell:
		return "%pip install lines work as in a notebook."
	case noPip:
		return "!command lines work as in a notebook."
	}
	return "!command and %pip install lines work as in a notebook."
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
