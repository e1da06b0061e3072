// Package tools is what an agent sees: two tools and their arguments. A handler decodes, asks
// the Manager, and has package answer render the result.
//
// To add an operation to manage_interpreters takes five files: its method in package sessions;
// its row and arguments in manage_interpreters.go; that method in the interface Manager, and the
// handler that calls it, in operations.go; its line in manage_interpreters.md; its fake and its
// case of TestEveryOperation in manage_interpreters_test.go. Then "go test ./tools -update"
// writes the schemas.
//
// The arguments of trials exist with --trials only: RunTrialArgs embeds RunPythonCodeArgs, so a
// server without them has the schema and the tokens it had. A broken trial is not the user's to
// mend, so trials don't count as failures in a row: the debug depth has an advice of its own.
// What a model reads, texts of tools, prompts and instructions, is in .md files beside the code.
package tools
