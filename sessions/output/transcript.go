package output

import (
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"unicode/utf8"

	"understudy/internal/screen"
)

// Transcript collects what one execution prints and shows while it runs. Take hands out
// each piece exactly once.
type Transcript struct {
	mu       sync.Mutex
	marks    [2]screen.Splitter
	decoders [2]decoder
	spools   [2]spool
	fresh    *printed // what nobody has taken yet
	all      *printed // what the record gets; nil once it has it
	between  string   // what was printed since the execution before
	told     bool     // that was taken
	pages    [2]atomic.Pointer[place]

	shown    []exhibit
	images   *ImageRoom // that of the session
	previews int        // bytes of images that nobody has taken yet
	said     int        // bytes of what is said of figures and artifacts
	unshown  int        // figures and artifacts past maxShown or maxSaid

	printLimit int64 // bytes of both streams; 0 is none
	bytes      int64 // printed so far
	// Overflow is called once, when more than the limit was printed. It must not wait.
	Overflow func()
}

// Options say how much of an execution's output is kept, and where.
type Options struct {
	Limit      int   // bytes of each stream in memory: half its head, half its tail
	SpoolAfter int   // bytes that a stream may print before it gets a file
	SpoolLimit int64 // bytes of each stream in its file
	PrintLimit int64 // bytes of both streams before Overflow is called; 0 is no limit
	// Images is the room for images that nobody has taken yet. It must be set.
	Images *ImageRoom
}

// printed is an execution's output, or that since the last take.
type printed struct {
	streams [2]buffer
	both    buffer // in order of arrival, with marks
}

// Excerpt is what a Transcript hands out.
type Excerpt struct {
	Text      [2]string      // by Stream, with a Marker where Truncated characters were left out
	Truncated [2]int64       // by Stream
	Pieces    []screen.Piece // both streams in order of arrival, with the marks of display()
	Figures   []Figure
	Artifacts []Artifact
	Path      string // of the file with the whole of a long stream, or ""
	Between   string // what was printed since the execution before
	Notes     []string
}

// Interleaved returns the text of Pieces as it was printed, the streams by turns, with an
// entry for what was left out.
func (x *Excerpt) Interleaved() []string { return interleaved(x.Pieces) }

const (
	// lastBytes is how much of the end of the output is searched for its last line.
	lastBytes = 1 << 10
	// maxShown is how many figures and artifacts of one execution are told of.
	maxShown = 1000
	// maxSaid is how many bytes what is said of them may have: names, titles, paths.
	maxSaid = 1 << 20
)

// NewTranscript returns one that puts the whole of a long stream into a file below dir.
func NewTranscript(dir string, o Options) *Transcript {
	limit := o.half()
	t := &Transcript{fresh: newPrinted(limit), all: newPrinted(limit), printLimit: o.PrintLimit, images: o.Images}
	// What is cut from memory is in a file by then, though a byte may become a character of three.
	after := min(o.SpoolAfter, limit/utf8.UTFMax)
	for stream := range t.spools {
		t.spools[stream] = spool{path: filepath.Join(dir, Stream(stream).String()), after: after, limit: o.SpoolLimit}
	}
	return t
}

// half is how many bytes are kept of a head, and of a tail.
func (o Options) half() int { return max(o.Limit/2, utf8.UTFMax) }

func newPrinted(limit int) *printed {
	return &printed{streams: [2]buffer{{limit: limit}, {limit: limit}}, both: buffer{limit: limit}}
}

// excerpt returns what p holds, and where the whole of a long stream is.
func (t *Transcript) excerpt(p *printed) Excerpt {
	x := Excerpt{Pieces: p.both.pieces()}
	for stream := range p.streams {
		x.Text[stream], x.Truncated[stream] = p.streams[stream].text()
		t.spools[stream].locate(&x)
	}
	return x
}

// Output takes bytes as the worker read them.
func (t *Transcript) Output(stream Stream, p []byte) {
	if t.takeOutput(stream, p) {
		t.Overflow()
	}
}

// takeOutput reports whether the limit on output is passed with p.
func (t *Transcript) takeOutput(stream Stream, p []byte) (passed bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.marks[stream].Split(p, func(p []byte, mark bool) {
		if !mark {
			t.spools[stream].write(p)
			p = t.decoders[stream].decode(p)
		}
		t.append(stream, p, mark)
	})
	before := t.bytes
	t.bytes += int64(len(p))
	return t.printLimit > 0 && before <= t.printLimit && t.bytes > t.printLimit && t.Overflow != nil
}

// Between takes what was printed since the execution before. It stands in the whole
// output, under a heading, and apart from what this execution prints.
func (t *Transcript) Between(pieces []Piece) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.between = interleave(pieces, t.fresh.both.limit)
	for stream := range t.spools {
		var text []byte
		for _, piece := range pieces {
			if piece.Stream == Stream(stream) {
				text = append(text, piece.Text...)
			}
		}
		if len(text) > 0 {
			before := strings.TrimSuffix(screen.Unmarked(string(text)), "\n")
			t.spools[stream].write(fmt.Appendf(nil, "[between calls]\n%s\n[this call]\n", before))
		}
	}
}

// Interleave returns what was printed between calls as one text, of a long one head and tail.
func (o Options) Interleave(pieces []Piece) string { return interleave(pieces, o.half()) }

func interleave(pieces []Piece, limit int) string {
	both := buffer{limit: limit}
	var decoders [2]decoder
	for _, piece := range pieces {
		both.write(piece.Stream, decoders[piece.Stream].decode(piece.Text))
	}
	for stream := range decoders {
		both.write(Stream(stream), decoders[stream].flush())
	}
	return strings.Join(interleaved(both.pieces()), "")
}

// append takes text, or a mark: what display() and clear_output() say of the text, which
// only who shows the text gets.
func (t *Transcript) append(stream Stream, p []byte, mark bool) {
	for _, kept := range []*printed{t.fresh, t.all} {
		if kept == nil { // it is recorded
			continue
		}
		kept.both.write(stream, p)
		if !mark {
			kept.streams[stream].write(stream, p)
		}
	}
}

// Finish ends the text: no more output belongs to this execution.
func (t *Transcript) Finish() {
	t.mu.Lock()
	defer t.mu.Unlock()
	for stream := range t.decoders {
		if held := t.marks[stream].Flush(); len(held) > 0 {
			t.spools[stream].write(held)
			t.append(Stream(stream), t.decoders[stream].decode(held), false)
		}
		t.append(Stream(stream), t.decoders[stream].flush(), false)
	}
}

// Take returns what came since the last take.
func (t *Transcript) Take() Excerpt {
	t.mu.Lock()
	defer t.mu.Unlock()
	x := t.excerpt(t.fresh)
	t.fresh = newPrinted(t.fresh.both.limit)
	x.Figures, x.Artifacts = t.takeShown()
	if t.unshown > 0 {
		x.Notes = append(x.Notes, fmt.Sprintf("%d more figures or artifacts are files only: a run tells of %d, in %d MiB", t.unshown, maxShown, maxSaid>>20))
		t.unshown = 0
	}
	if !t.told {
		x.Between, t.told = t.between, true
	}
	return x
}

// Recorded returns all that came, whoever took it. SoFar goes on telling of it until Close:
// the server may be killed before it is recorded.
func (t *Transcript) Recorded() Excerpt {
	t.mu.Lock()
	defer t.mu.Unlock()
	x := t.excerpt(t.all)
	x.Between = t.between
	x.Figures, x.Artifacts = t.allShown()
	return x
}

// Inventory is what there is to be recalled of an execution.
type Inventory struct {
	// Printed is how many bytes of each stream there are to be read, by Stream, and Long
	// whether they are too many for an answer.
	Printed [2]int64
	Long    [2]bool
	// Figures are without their previews, Artifacts without their images.
	Figures   []Figure
	Artifacts []Artifact
}

// Inventory tells of what there is to be recalled.
func (t *Transcript) Inventory() (i Inventory) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for stream, s := range t.spools {
		i.Printed[stream], i.Long[stream] = s.size, s.file != nil
	}
	i.Figures, i.Artifacts = t.allShown()
	return i
}

// Held returns how many bytes of memory and of disk the transcript holds for good.
func (t *Transcript) Held() (memory int, spooled int64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, s := range t.spools {
		memory += len(s.start)
		if s.file != nil {
			spooled += s.size
		}
	}
	return memory + t.said, spooled
}

// Printed returns the whole of both streams. What is long, and what was cut from
// memory, is in a file then.
func (t *Transcript) Printed() [2]Printed {
	t.mu.Lock()
	defer t.mu.Unlock()
	return [2]Printed{t.spools[Stdout].printed(), t.spools[Stderr].printed()}
}

// Close lets go of the spool files; they stay on disk, and what is short stays in memory.
func (t *Transcript) Close() {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, s := range t.spools {
		if s.file != nil {
			_ = s.file.Close() // every write was checked; nothing is buffered
		}
	}
	t.all = nil
}

// LastLine returns the last line that isn't blank, cut to 200 characters.
func (t *Transcript) LastLine() string {
	text := strings.TrimRight(screen.Text(t.ending(lastBytes)), " \t\n")
	text = text[strings.LastIndexByte(text, '\n')+1:]
	if runes := []rune(text); len(runes) > 200 {
		text = string(runes[:200]) + "…"
	}
	return strings.TrimSpace(text)
}

// SoFar returns what was printed, of both streams in order: all of it if it fits into
// room, else its last whole lines behind a Marker; "" once it is recorded.
func (t *Transcript) SoFar(room int) string { return screen.Unmarked(t.ending(room)) }

func (t *Transcript) ending(room int) string {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.all == nil {
		return ""
	}
	marker, text := t.all.both.ending(room)
	return marker + text
}
