// Package answer is how results look to an agent: one text for the model, then pictures and
// links, then the record for programs, all within what the client takes.
//
// The words used here beside those of package sessions:
//
//   - record: a sessions.Result as programs read it, bounded; structuredContent.
//   - text: the same as a model reads it; the first content of every answer.
//   - picture: a figure as it is sent, fitted to the budget.
//   - budget: what an answer may hold; the text in characters, the whole in
//     bytes as they travel.
//   - profile: what answers to one kind of client are like.
package answer
