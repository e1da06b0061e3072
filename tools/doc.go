// Package tools is what an agent sees: two tools, their arguments, and how
// results look to it. A handler decodes, asks the Manager, renders.
//
// The words used here beside those of package sessions:
//
//   - record: a sessions.Result as programs read it, bounded; structuredContent.
//   - text: the same as a model reads it; the first content of every answer.
//   - picture: a figure as it is sent, fitted to the budget.
//   - budget: what an answer may hold; the text in characters, the whole in
//     bytes as they travel.
//
// The arguments of trials exist with --trials only: RunTrialArgs embeds RunPythonCodeArgs, so a
// server without them has the schema and the tokens it had. A broken trial is not the user's to
// mend, so trials don't count as failures in a row: the debug depth has an advice of its own.
// What a model reads, texts of tools, prompts and instructions, is in .md files beside the code.
package tools
