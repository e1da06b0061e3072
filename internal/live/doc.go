// Package live is the terminal view of what servers do. It reads the journal and
// nothing else, so it never slows a server, and shows those that have ended as well.
//
// The poller looks at the journal every 300 ms, at runs and interpreters less often. The
// picture is the sum of what was found, without details and with the first 2,000 bytes of
// code and plan. The screen turns keys and updates into effects and draws itself as text of
// the terminal's size: it knows no terminal, so tests compare text.
//
// All that an agent or a program wrote passes clean before it is drawn: escape sequences,
// control characters, characters that turn the direction of writing or join emoji, about whose
// width terminals disagree. Pulses are up to a second old: what the journal has as ended is not
// shown as running. Bubble Tea waits for no command when it ends, so the poller's lock keeps
// the journal open until a look is over.
package live
