package sessions

import (
	"fmt"
	"net/url"
	"path/filepath"
	"strings"
	"sync"
	"unicode/utf8"
)

// transcript collects what one execution prints and draws while it runs, in
// bounded memory. take hands out each piece exactly once.
type transcript struct {
	mu      sync.Mutex
	streams [2]streamText
	term    termText
	figures []Figure
	limit   int // bytes of head, and of tail, kept in memory for each stream
}

// streamText is one stream of a transcript.
type streamText struct {
	decoder decoder
	clip    clip
	spool   spool
}

// excerpt is what take hands out.
type excerpt struct {
	stdout, stderr                   string
	stdoutTruncated, stderrTruncated int64
	term                             []string
	figures                          []Figure
	outputURI                        string
	notes                            []string
}

// newTranscript returns a transcript that keeps OutputLimit bytes of each
// stream in memory, half of them from its head and half from its tail, and
// spools the whole of a long one below dir.
func newTranscript(dir string, o *Options) *transcript {
	half := max(o.OutputLimit/2, utf8.UTFMax)
	t := &transcript{limit: half, term: termText{limit: half}}
	for stream := range t.streams {
		t.streams[stream].clip.limit = half
		t.streams[stream].spool = spool{path: filepath.Join(dir, Stream(stream).String()), after: o.SpoolAfter, limit: o.SpoolLimit}
	}
	return t
}

// Output takes bytes as the worker read them.
func (t *transcript) Output(stream Stream, p []byte) {
	t.mu.Lock()
	defer t.mu.Unlock()
	s := &t.streams[stream]
	s.spool.write(p)
	t.append(stream, s.decoder.decode(p))
}

// Figure takes a figure that was shown.
func (t *transcript) Figure(f Figure) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.figures = append(t.figures, f)
}

func (t *transcript) append(stream Stream, text []byte) {
	if len(text) > 0 {
		t.streams[stream].clip.write(text)
		t.term.write(stream, text)
	}
}

// finish ends the text: no more output belongs to this execution.
func (t *transcript) finish() {
	t.mu.Lock()
	defer t.mu.Unlock()
	for stream := range t.streams {
		t.append(Stream(stream), t.streams[stream].decoder.flush())
	}
}

// take returns what came since the last take.
func (t *transcript) take() excerpt {
	t.mu.Lock()
	defer t.mu.Unlock()
	var x excerpt
	x.stdout, x.stdoutTruncated = t.streams[Stdout].clip.text()
	x.stderr, x.stderrTruncated = t.streams[Stderr].clip.text()
	x.term, x.figures = t.term.take(), t.figures
	t.figures = nil
	for stream := range t.streams {
		s := &t.streams[stream]
		if s.clip.dropped > 0 || s.spool.file != nil {
			s.keepWhole(&x)
		}
		s.clip = clip{limit: t.limit}
	}
	return x
}

// keepWhole names the place of the whole text in x, and says what is not there.
func (s *streamText) keepWhole(x *excerpt) {
	s.spool.materialize()
	if s.spool.failure != nil {
		x.notes = append(x.notes, fmt.Sprintf("the whole output could not be kept: %v", s.spool.failure))
		return
	}
	if x.outputURI == "" {
		x.outputURI = (&url.URL{Scheme: "file", Path: filepath.ToSlash(s.spool.path)}).String()
	}
	if s.spool.lost > 0 {
		x.notes = append(x.notes, fmt.Sprintf("%s holds the first %d bytes; %d more were not kept", s.spool.path, s.spool.size, s.spool.lost))
	}
}

// OutputPath returns the file path named by a record's output_uri, or "".
func OutputPath(uri string) string {
	u, err := url.Parse(uri)
	if err != nil || u.Scheme != "file" {
		return ""
	}
	return filepath.FromSlash(u.Path)
}

// close lets go of the spool files; they stay on disk. What was cut from
// memory is written to one first.
func (t *transcript) close() {
	t.mu.Lock()
	defer t.mu.Unlock()
	for stream := range t.streams {
		s := &t.streams[stream]
		if s.clip.dropped > 0 {
			s.spool.materialize()
		}
		s.spool.close()
	}
}

// lastLine returns the last line that isn't blank, cut to 200 characters.
func (t *transcript) lastLine() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	text := strings.TrimRight(t.term.end(1<<10), " \t\r\n")
	if i := strings.LastIndexAny(text, "\r\n"); i >= 0 {
		text = text[i+1:]
	}
	if runes := []rune(text); len(runes) > 200 {
		text = string(runes[:200]) + "…"
	}
	return strings.TrimSpace(text)
}
