package journal

import (
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"unicode/utf8"

	"understudy/sessions"
	"understudy/sessions/output"
)

const (
	// largestCopy is how large a file may be that is copied because it can't be linked,
	// in bytes: a call waits for it.
	largestCopy = 256 << 20
	// largestOwnCopy is up to which size a figure is copied, in bytes. Code may write to
	// the file of a figure, so a link would change with it.
	largestOwnCopy = 16 << 20
	// largestText is how much of an output is kept in the journal itself, in bytes; the
	// whole of a longer one is in a file.
	largestText = 64 << 10
)

// detailOf keeps an execution's files, and returns the rest of it; result is its record
// without secrets. A file that can't be kept is missing, which is told: it must not cost
// the record.
func (j *Journal) detailOf(entry sessions.Entry, result sessions.Result, mask *masker) (d *Detail, missing error) {
	k := &keeper{journal: j, entry: entry, mask: mask}
	problems := 0
	problem := func(what string, err error) {
		if err == nil {
			return
		}
		if problems++; problems == 1 { // a run may have thousands
			missing = fmt.Errorf("%s: %w", what, err)
		}
	}
	var err error
	d = &Detail{TermOut: cutPieces(result.TermOut, 0), Refused: entry.Refused}
	if entry.Python != nil {
		d.Python = new(string)
		*d.Python = mask.text(*entry.Python)
	}
	d.Stdout, err = k.output(sessions.Stdout, entry.Result.Stdout, entry.Result.StdoutTruncated)
	problem("the whole of stdout", err)
	d.Stderr, err = k.output(sessions.Stderr, entry.Result.Stderr, entry.Result.StderrTruncated)
	problem("the whole of stderr", err)
	for i, f := range result.Figures {
		f := Figure{Figure: f}
		f.File, err = k.made(entry.Result.Figures[i].Path, "figure", i+1, nil, true) // bytes of an image are no text
		problem(fmt.Sprintf("figure %d", i+1), err)
		d.Figures = append(d.Figures, f)
	}
	for i, a := range result.Artifacts {
		of := mask
		if binary[a.MIMEType] {
			of = nil
		}
		a := Artifact{Artifact: a}
		// A copy: it is in the working directory, where code may write to it.
		a.File, err = k.made(entry.Result.Artifacts[i].Path, "artifact", i+1, of, false)
		problem(fmt.Sprintf("artifact %d", i+1), err)
		d.Artifacts = append(d.Artifacts, a)
	}
	result.Stdout, result.Stderr, result.TermOut, result.FigStoragePath, result.Base64URI = "", "", nil, nil, nil
	d.Record = result
	if problems > 1 {
		missing = fmt.Errorf("%w; and %d more", missing, problems-1)
	}
	if missing != nil {
		j.log.Warn("keeping files for the journal", "interpreter_id", entry.InterpreterID, "execution", entry.Execution, "error", missing)
	}
	return d, missing
}

// binary are the artifacts that have no secrets to be looked for.
var binary = map[string]bool{
	"image/png": true, "image/jpeg": true, "image/gif": true, "image/webp": true, "application/pdf": true, "application/zip": true,
}

// keeper puts files of one execution beside the journal.
type keeper struct {
	journal *Journal
	entry   sessions.Entry
	mask    *masker
}

// openOwn opens a file of the server's.
func openOwn(path string) (*os.File, error) { return os.OpenFile(path, os.O_RDONLY|openOnly, 0) }

// kept is a file that is to be kept.
type kept struct {
	from, name string
	open       func(path string) (*os.File, error)
	mask       *masker
	cut        bool  // the end is missing
	linkFrom   int64 // up to which size it is copied, in bytes, and not linked
	mostCopy   int64 // how large it may be to be copied
}

// keep gives a file a name beside the journal, and returns that, relative to the directory
// of files. It is a link where that is wanted and can be, else a copy without secrets.
func (k *keeper) keep(f kept) (string, error) {
	file, err := f.open(f.from)
	if err != nil {
		return "", err
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return "", err
	}
	if !info.Mode().IsRegular() {
		return "", fmt.Errorf("%s is no ordinary file", f.from)
	}
	name := path.Join(k.journal.run, fmt.Sprintf("%s-%d-%s", k.entry.InterpreterID, k.entry.Execution, f.name))
	to := filepath.Join(filesOf(k.journal.path), filepath.FromSlash(name))
	_ = os.Remove(to) // of an execution with this number that did not count
	if info.Size() > f.linkFrom && os.Link(f.from, to) == nil {
		if linked, err := os.Lstat(to); err == nil && os.SameFile(info, linked) {
			return name, nil
		}
		_ = os.Remove(to) // another file has its name
	}
	if info.Size() > f.mostCopy {
		return "", fmt.Errorf("%s is too large to be copied", f.from)
	}
	if err := copyTo(to, file, f.mask, f.cut); err != nil {
		return "", err
	}
	return name, nil
}

// copyTo makes the file that is kept, without secrets. It appears under its name when it
// is whole.
func copyTo(to string, from io.Reader, mask *masker, cut bool) error {
	unfinished := to + ".part"
	_ = os.Remove(unfinished)
	out, err := os.OpenFile(unfinished, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	if mask != nil {
		err = mask.pass(out, from, cut)
	} else {
		_, err = io.Copy(out, from)
	}
	if err = errors.Join(err, out.Close()); err == nil {
		err = os.Rename(unfinished, to)
	}
	if err != nil {
		_ = os.Remove(unfinished)
	}
	return err
}

// made keeps the numbered figure or artifact, which a session has made, without
// secrets, and returns its name. One that is large may be linked instead.
func (k *keeper) made(from, kind string, number int, mask *masker, link bool) (string, error) {
	if from == "" && link { // a figure without a file
		return "", nil
	}
	extension := strings.ToLower(filepath.Ext(from))
	if !ordinaryExtension.MatchString(extension) || k.mask.text(extension) != extension {
		extension = ""
	}
	open := k.entry.Open
	if open == nil {
		open = openOwn
	}
	f := kept{
		from: from, name: kind + "-" + strconv.Itoa(number) + extension, open: open, mask: mask,
		linkFrom: math.MaxInt64, mostCopy: largestCopy,
	}
	if link {
		f.linkFrom = largestOwnCopy
	}
	return k.keep(f)
}

var ordinaryExtension = regexp.MustCompile(`^\.[a-z0-9]{1,8}$`)

// output keeps what was printed on a stream, of which text is what answers have,
// without so many characters.
func (k *keeper) output(stream sessions.Stream, text string, dropped int64) (Output, error) {
	printed := k.entry.Printed[stream]
	text = k.mask.text(text)
	o := Output{Text: text, Size: printed.Size, Lost: printed.Lost}
	if dropped == 0 && len(text) <= largestText {
		return o, nil
	}
	if printed.Path == "" && int64(len(printed.Text)) == printed.Size { // all of it is in memory
		o.Text = k.mask.text(strings.ToValidUTF8(string(printed.Text), "\ufffd"))
		return o, nil
	}
	o.Text = strings.Join(cutPieces([]string{text}, dropped), "")
	f := kept{
		from: printed.Path, name: stream.String() + ".txt", open: openOwn, mask: k.mask, cut: printed.Lost > 0,
		linkFrom: -1, mostCopy: math.MaxInt64, // nobody writes to it any more, and the spool's limit bounds it
	}
	if k.mask != nil {
		f.linkFrom = math.MaxInt64
	}
	var err error
	if o.Path, err = k.keep(f); err != nil {
		o.lose()
	}
	return o, err
}

// lose says that there is no file, and will be none.
func (o *Output) lose() {
	o.Lost += max(0, o.Size-int64(len(o.Text)))
	o.Path, o.Pending = "", false
}

// cutPieces leaves out the middle of a text in pieces that is long, from which so many
// characters are missing already, with a marker of its own.
func cutPieces(pieces []string, dropped int64) []string {
	total := 0
	for _, piece := range pieces {
		total += len(piece)
	}
	if total <= largestText {
		return pieces
	}
	missing := dropped
	if dropped > 0 {
		missing -= int64(utf8.RuneCountInString(output.Marker(dropped)))
	}
	var head, tail []string
	at := 0
	for _, piece := range pieces {
		first := min(max(0, largestText/2-at), len(piece)) // of the piece that is in the head
		for first > 0 && first < len(piece) && !utf8.RuneStart(piece[first]) {
			first--
		}
		last := max(first, min(total-largestText/2-at, len(piece))) // from where it is in the tail
		for last < len(piece) && !utf8.RuneStart(piece[last]) {
			last++
		}
		if first > 0 {
			head = append(head, piece[:first])
		}
		if last < len(piece) {
			tail = append(tail, piece[last:])
		}
		missing += int64(utf8.RuneCountInString(piece[first:last]))
		at += len(piece)
	}
	return append(append(head, output.Marker(missing)), tail...)
}
