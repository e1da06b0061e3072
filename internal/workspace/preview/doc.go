// Package preview describes in a text for a model what is in a directory of data:
// a tree of the files, and for each file of data what its columns, keys or
// dimensions are.
//
// What is read is bounded by bytes and by time: of a large file some blocks are
// read, and the text says that its figures come from a sample. Nothing in a file
// keeps the rest from being described. What files hold is data, and may be
// hostile: control characters are left out, long cells are cut, and no number in a
// file decides how much memory is taken.
package preview
