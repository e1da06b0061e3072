// Package untrusted handles directories that untrusted code has filled, and may still be
// changing while they are looked at: it may put links, pipes or other directories in the
// place of what was there, link to files that it may not read, nest directories without
// end, or make files of terabytes that take no room. All but OpenParent and IsGone, which
// open the first one, reach everything from an os.Root that was opened before, so that
// nothing outside of it is touched. Where the server is root and the code is another user,
// a User does it, and so no more than the code itself could.
package untrusted
