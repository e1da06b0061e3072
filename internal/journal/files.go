package journal

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"unicode/utf8"

	"understudy/sessions"
)

// largestCopy is how large a file may be that is copied because it can't be linked,
// in bytes: a call waits for it.
const largestCopy = 256 << 20

// largestOwnCopy is up to which size a figure is copied, in bytes. Code may write to the
// file of a figure, so a link would change with it.
const largestOwnCopy = 16 << 20

// keeper puts files of one execution beside the journal.
type keeper struct {
	root   string // the directory of all runs
	run    string
	prefix string // of the names
	// made opens what an execution has made; nil opens a file of the server's, by its path.
	made   func(path string) (*os.File, error)
	mask   *masker
	later  *later
	queued *[]*spooled // what is to be kept once the execution is stored
}

// open opens a file that is to be kept, and says where.
func (k keeper) open(from, name string) (file *os.File, size int64, kept, to string, err error) {
	if k.made != nil {
		file, err = k.made(from)
	} else {
		file, err = os.OpenFile(from, os.O_RDONLY|openOnly, 0)
	}
	if err != nil {
		return nil, 0, "", "", err
	}
	info, err := file.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = fmt.Errorf("%s is no ordinary file", from)
	}
	if err != nil {
		return nil, 0, "", "", errors.Join(err, file.Close())
	}
	kept = path.Join(k.run, k.prefix+name)
	to = filepath.Join(k.root, filepath.FromSlash(kept))
	_ = os.Remove(to) // of an execution with this number that did not count
	return file, info.Size(), kept, to, nil
}

// keep copies a file without secrets, and returns its name relative to root. One that
// is large may be linked instead.
func (k keeper) keep(from, name string, link bool) (string, error) {
	file, size, kept, to, err := k.open(from, name)
	if err != nil {
		return "", err
	}
	defer file.Close()
	s := &spooled{file: file, from: from, to: to, mask: k.mask}
	if link && size > largestOwnCopy && k.mask == nil && s.link(to) {
		return kept, nil
	}
	if size > largestCopy {
		return "", fmt.Errorf("%s is too large to be copied", from)
	}
	if err := s.copy(context.Background(), to); err != nil {
		_ = os.Remove(to)
		return "", err
	}
	return kept, nil
}

// spool keeps the whole of an output, to which nobody writes any more. A long one that
// is to be searched or copied is kept later: pending says so.
func (k keeper) spool(stream sessions.Stream, printed sessions.Printed) (name string, pending bool, err error) {
	file, size, kept, to, err := k.open(printed.Path, stream.String()+".txt")
	if err != nil {
		return "", false, err
	}
	s := &spooled{file: file, from: printed.Path, to: to, stream: stream, mask: k.mask, cut: printed.Lost > 0}
	if size > longestWait && (k.mask != nil || !s.link(to)) {
		if !k.later.reserve() {
			return "", false, errors.Join(errors.New("too many long outputs are being kept"), file.Close())
		}
		*k.queued = append(*k.queued, s)
		return kept, true, nil
	}
	if size <= longestWait {
		err = s.keep(context.Background())
	}
	return kept, false, errors.Join(err, file.Close())
}

// extension is that of a file, as ".png", if it is an ordinary one.
func (k keeper) extension(file string) string {
	extension := strings.ToLower(filepath.Ext(file))
	if !ordinaryExtension.MatchString(extension) || k.mask.text(extension) != extension {
		return ""
	}
	return extension
}

var ordinaryExtension = regexp.MustCompile(`^\.[a-z0-9]{1,8}$`)

// largestText is how much of an output is kept in the journal itself, in bytes; the
// whole of a longer one is in a file.
const largestText = 64 << 10

// output keeps what was printed on a stream, of which text is what answers have.
func (k keeper) output(stream sessions.Stream, text string, dropped int64, printed sessions.Printed) (Output, error) {
	text = k.mask.text(text)
	o := Output{Text: text, Size: printed.Size, Lost: printed.Lost}
	if dropped == 0 && len(text) <= largestText {
		return o, nil
	}
	if printed.Path == "" && int64(len(printed.Text)) == printed.Size { // all of it is in memory
		o.Text = k.mask.text(strings.ToValidUTF8(string(printed.Text), "\ufffd"))
		return o, nil
	}
	o.Text = cut(text, dropped)
	var err error
	if o.Path, o.Pending, err = k.spool(stream, printed); err != nil {
		o.lose()
	}
	return o, err
}

// cut leaves out the middle of a long text, from which so many characters are
// missing already.
func cut(text string, dropped int64) string {
	if len(text) <= largestText {
		return text
	}
	head, tail := ends(text, largestText/2)
	missing := int64(utf8.RuneCountInString(text[len(head) : len(text)-len(tail)]))
	if dropped > 0 { // with the line that says so
		missing += dropped - int64(utf8.RuneCountInString(sessions.Marker(dropped)))
	}
	return head + sessions.Marker(missing) + tail
}

// ends returns a text's first and last bytes, at most so many each, whole characters.
func ends(text string, limit int) (head, tail string) {
	head, tail = text[:limit], text[len(text)-limit:]
	for len(head) > 0 && !utf8.RuneStart(text[len(head)]) {
		head = head[:len(head)-1]
	}
	for len(tail) > 0 && !utf8.RuneStart(tail[0]) {
		tail = tail[1:]
	}
	return head, tail
}

// cutPieces is cut for both streams in order of arrival.
func cutPieces(pieces []string) []string {
	total := 0
	for _, piece := range pieces {
		total += len(piece)
	}
	if total <= largestText {
		return pieces
	}
	head, rest := takePieces(pieces, largestText/2, false)
	tail, rest := takePieces(rest, largestText/2, true)
	missing := 0
	for _, piece := range rest {
		missing += utf8.RuneCountInString(piece)
	}
	return append(append(head, sessions.Marker(int64(missing))), tail...)
}

// takePieces takes pieces from the beginning, or from the end, up to a size; one
// that is longer is divided.
func takePieces(pieces []string, size int, fromEnd bool) (taken, rest []string) {
	rest = append(rest, pieces...)
	for len(rest) > 0 && size > 0 {
		at := 0
		if fromEnd {
			at = len(rest) - 1
		}
		piece := rest[at]
		if len(piece) > size {
			head, tail := ends(piece, size)
			if fromEnd {
				taken, rest[at] = append([]string{tail}, taken...), piece[:len(piece)-len(tail)]
			} else {
				taken, rest[at] = append(taken, head), piece[len(head):]
			}
			return taken, rest
		}
		size -= len(piece)
		if fromEnd {
			taken, rest = append([]string{piece}, taken...), rest[:at]
		} else {
			taken, rest = append(taken, piece), rest[1:]
		}
	}
	return taken, rest
}
