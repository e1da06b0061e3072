package sessions

import (
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"unicode/utf8"

	"understudy/internal/screen"
)

// transcript collects what one execution prints and draws while it runs, in
// bounded memory. take hands out each piece exactly once.
type transcript struct {
	mu       sync.Mutex
	marks    [2]screen.Splitter
	decoders [2]decoder
	spools   [2]spool
	lines    [2]lineIndex
	shown    []Figure   // all of them, without previews
	keeps    []Artifact // the same, without images
	fresh    pieces     // what nobody has taken yet
	between  string     // what was printed since the execution before
	told     bool       // that was taken
	all      *pieces    // what a Recorder is to get; nil without one
	images   *imageRoom // that of the session
	previews int        // bytes of images that nobody has taken yet
	said     int        // bytes of what is said of figures and artifacts
	untold   int        // figures and artifacts past maxShown or maxSaid

	printLimit int64 // bytes of both streams; 0 is none
	bytes      int64 // printed so far
	// overflow is called once, when more than the limit was printed. It doesn't wait.
	overflow func()
}

// pieces are an execution's output and figures, or those since the last take.
type pieces struct {
	limit     int // bytes of head, and of tail, of each stream
	clips     [2]clip
	term      termText
	figures   []Figure
	artifacts []Artifact
}

// excerpt is pieces as a record holds them.
type excerpt struct {
	stdout, stderr                   string
	stdoutTruncated, stderrTruncated int64
	pieces                           []screen.Piece
	figures                          []Figure
	artifacts                        []Artifact
	outputPath                       string
	between                          string
	notes                            []string
}

const (
	// maxShown is how many figures, and how many artifacts, of one execution are told of.
	maxShown = 1000
	// maxSaid is how many bytes what is said of them may have: names, titles, paths.
	maxSaid = 1 << 20
)

// newTranscript returns a transcript that keeps OutputLimit bytes of each
// stream in memory, half of them from its head and half from its tail, and
// spools the whole of a long one below dir.
func newTranscript(dir string, o *Options) *transcript {
	limit := max(o.OutputLimit/2, utf8.UTFMax)
	t := &transcript{fresh: newPieces(limit), printLimit: o.PrintLimit, images: &imageRoom{left: MaxImages}}
	if o.Recorder != nil {
		all := newPieces(limit)
		t.all = &all
	}
	for stream := range t.spools {
		t.spools[stream] = spool{path: filepath.Join(dir, Stream(stream).String()), after: o.SpoolAfter, limit: o.SpoolLimit}
	}
	return t
}

func newPieces(limit int) pieces {
	return pieces{limit: limit, clips: [2]clip{{limit: limit}, {limit: limit}}, term: termText{limit: limit}}
}

func (p *pieces) write(stream Stream, text []byte) {
	p.clips[stream].write(text)
	p.term.write(stream, text)
}

// take empties p but for the line that is shown as progress.
func (p *pieces) take() excerpt {
	var x excerpt
	x.stdout, x.stdoutTruncated = p.clips[Stdout].text()
	x.stderr, x.stderrTruncated = p.clips[Stderr].text()
	x.pieces, x.figures, x.artifacts = p.term.take(), p.figures, p.artifacts
	p.figures, p.artifacts = nil, nil
	for stream := range p.clips {
		p.clips[stream] = clip{limit: p.limit}
	}
	return x
}

// Output takes bytes as the worker read them.
func (t *transcript) Output(stream Stream, p []byte) {
	if t.takeOutput(stream, p) {
		t.overflow()
	}
}

// takeOutput reports whether the limit on output is passed with p.
func (t *transcript) takeOutput(stream Stream, p []byte) (passed bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.marks[stream].Split(p, func(p []byte, mark bool) {
		if mark {
			t.mark(stream, p)
			return
		}
		t.spools[stream].write(p)
		t.append(stream, t.decoders[stream].decode(p))
	})
	before := t.bytes
	t.bytes += int64(len(p))
	return t.printLimit > 0 && before <= t.printLimit && t.bytes > t.printLimit && t.overflow != nil
}

// before takes what was printed since the execution before. It stands in the whole
// output, under a heading, and apart from what this execution prints.
func (t *transcript) before(pieces []Piece) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.between = inOrder(pieces, t.fresh.limit)
	for stream := range t.spools {
		var text []byte
		for _, piece := range pieces {
			if piece.Stream == Stream(stream) {
				text = append(text, piece.Text...)
			}
		}
		if len(text) > 0 {
			t.spools[stream].write(fmt.Appendf(nil, "[between calls]\n%s\n[this call]\n", strings.TrimSuffix(screen.Unmarked(string(text)), "\n")))
		}
	}
}

// inOrder is what was printed between calls as one text: at most limit bytes of its
// head and of its tail.
func inOrder(pieces []Piece, limit int) string {
	term := termText{limit: limit}
	var decoders [2]decoder
	for _, piece := range pieces {
		term.write(piece.Stream, decoders[piece.Stream].decode(piece.Text))
	}
	for stream := range decoders {
		term.write(Stream(stream), decoders[stream].flush())
	}
	return strings.Join(inTurn(term.take()), "")
}

// mark takes what display() and clear_output() say of the text. Only who shows the text
// gets it.
func (t *transcript) mark(stream Stream, p []byte) {
	t.fresh.term.write(stream, p)
	if t.all != nil {
		t.all.term.write(stream, p)
	}
}

func (t *transcript) append(stream Stream, text []byte) {
	if len(text) == 0 {
		return
	}
	t.fresh.write(stream, text)
	if t.all != nil {
		t.all.write(stream, text)
	}
}

// finish ends the text: no more output belongs to this execution.
func (t *transcript) finish() {
	t.mu.Lock()
	defer t.mu.Unlock()
	for stream := range t.decoders {
		if held := t.marks[stream].Flush(); len(held) > 0 {
			t.spools[stream].write(held)
			t.append(Stream(stream), t.decoders[stream].decode(held))
		}
		t.append(Stream(stream), t.decoders[stream].flush())
	}
}

// take returns what came since the last take.
func (t *transcript) take() excerpt {
	t.mu.Lock()
	defer t.mu.Unlock()
	x := t.located(t.fresh.take())
	t.images.give(t.previews)
	t.previews = 0
	if t.untold > 0 {
		x.notes = append(x.notes, fmt.Sprintf("%d more figures or artifacts are files only: a run tells of %d, in %s", t.untold, maxShown, SizeInWords(maxSaid)))
		t.untold = 0
	}
	if !t.told {
		x.between, t.told = t.between, true
	}
	return x
}

// recorded returns all that came, for the Recorder. Until it is recorded a Pulse has it,
// too: the server may be killed before.
func (t *transcript) recorded() excerpt {
	t.mu.Lock()
	defer t.mu.Unlock()
	all := *t.all
	x := t.located(all.take())
	x.between = t.between
	return x
}

// printed returns the whole of both streams. What is long, and what was cut from
// memory, is in a file then.
func (t *transcript) printed() (all [2]Printed) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for stream := range t.spools {
		s := &t.spools[stream]
		all[stream] = Printed{Text: s.start, Size: s.size + int64(len(s.start)), Lost: s.lost}
		if s.file != nil {
			all[stream].Path = s.path
		}
	}
	return all
}

// located adds to x where the whole of a long stream is.
func (t *transcript) located(x excerpt) excerpt {
	dropped := [2]int64{x.stdoutTruncated, x.stderrTruncated}
	for stream := range t.spools {
		if s := &t.spools[stream]; dropped[stream] > 0 || s.file != nil {
			s.locate(&x)
		}
	}
	return x
}

// locate names the place of the whole text in x, and says what is not there.
func (s *spool) locate(x *excerpt) {
	s.materialize()
	if s.failure != nil {
		x.notes = append(x.notes, fmt.Sprintf("the whole output could not be kept: %v", s.failure))
		return
	}
	if x.outputPath == "" {
		x.outputPath = s.path
	}
	if s.lost > 0 {
		x.notes = append(x.notes, fmt.Sprintf("%s holds the first %d bytes; %d more were not kept", s.path, s.size, s.lost))
	}
}

// close lets go of the spool files; they stay on disk, and what is short stays
// in memory. What was cut from memory is written to a file first.
func (t *transcript) close() {
	t.mu.Lock()
	defer t.mu.Unlock()
	for stream := range t.spools {
		if t.fresh.clips[stream].dropped() > 0 {
			t.spools[stream].materialize()
		}
		t.spools[stream].close()
	}
	t.all = nil // it is recorded
}

// lastLine returns the last line that isn't blank, cut to 200 characters.
func (t *transcript) lastLine() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	text := strings.TrimRight(screen.Text(t.fresh.term.end(lastSize)), " \t\n")
	if i := strings.LastIndexByte(text, '\n'); i >= 0 {
		text = text[i+1:]
	}
	if runes := []rune(text); len(runes) > 200 {
		text = string(runes[:200]) + "…"
	}
	return strings.TrimSpace(text)
}
