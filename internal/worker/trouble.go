package worker

import "bytes"

// trouble is what a run has met when it wrote files, as far as its text and its exception
// tell: a program that it has run says it in its own words.
type trouble struct {
	tooLarge bool   // a file could not grow, as a text has it that may speak of others
	raised   bool   // as its exception has it, or how a command ended
	full     bool   // nothing more could be written
	file     string // one that has become as large as it may
	held     bool   // because there was too much in all
	written  int64  // bytes of the worker's and of its children that have ended, on disks
}

// What Python, the C library, shells and SQLite say.
var (
	saysTooLarge   = words("File too large", "File size limit exceeded", "SIGXFSZ", "exit code 153", "exit status 153", "disk I/O error")
	raisesTooLarge = words("[Errno 27]", "SIGXFSZ", "exit code 153", "exit status 153")
	saysFull       = words("No space left on device", "Disk quota exceeded", "disk is full")
)

func words(all ...string) (words [][]byte) {
	for _, each := range all {
		words = append(words, []byte(each))
	}
	return words
}

// troubleTail is how many bytes of a piece of output are read for it: what prints a lot
// must not wait for that, and what fails says so last.
const troubleTail = 16 << 10

// read takes in a piece of text.
func (t *trouble) read(text []byte) {
	text = text[max(0, len(text)-troubleTail):]
	t.tooLarge = t.tooLarge || containsAny(text, saysTooLarge)
	t.full = t.full || containsAny(text, saysFull)
}

func containsAny(text []byte, words [][]byte) bool {
	for _, word := range words {
		if bytes.Contains(text, word) {
			return true
		}
	}
	return false
}
