// Package live is the terminal view of what servers do. It reads the journal and
// nothing else, so it never slows a server, and shows those that have ended as well.
//
// A look at the journal gives a whole picture, whose texts are cut and which has no details
// but of what is open. The screen turns keys into what it shows and draws itself as text of
// the terminal's size: it knows no terminal, so tests compare text.
//
// All that an agent or a program wrote passes clean before it is drawn: escape sequences,
// control characters, characters that turn the direction of writing or join emoji, about whose
// width terminals disagree. Heartbeats are up to a second old: what the journal has as ended is not
// shown as running.
package live
