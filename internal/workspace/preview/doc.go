// Package preview describes in a text for a model what is in a directory of data:
// a tree of the files, and for each file of data what its columns, keys or
// dimensions are.
//
// What is read is bounded by bytes and by time: of a large file some blocks are
// read, and the text says that its figures come from a sample. Nothing in a file
// keeps the rest from being described. What files hold is data, and may be
// hostile: control characters are left out, long cells are cut, and no number in a
// file decides how much memory is taken.
//
// Where a block of a large CSV begins within quotes can't be seen: it is read as if it began
// outside of quotes, within them, and between two that stand for one, and what leaves the
// smallest share outside of records with the wanted number of fields wins. (Counting bytes
// that fit is not enough: a wrong reading finds its way back at an empty "".) Links are
// followed within the directory and to the operator's sources only, by an os.Root: code may
// write in input/, and the server must not read other files for it.
package preview
