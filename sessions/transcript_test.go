package sessions

import (
	"bytes"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
)

const spoolAfter = 64 << 10

func testTranscript(dir string, limit int, spoolLimit int64) *transcript {
	return newTranscript(dir, &Options{OutputLimit: limit, SpoolAfter: spoolAfter, SpoolLimit: spoolLimit})
}

func TestTranscriptGivesEachPieceOnce(t *testing.T) {
	tr := testTranscript(t.TempDir(), 1<<20, 1<<20)
	tr.Output(Stdout, []byte("one\n"))
	tr.Output(Stderr, []byte("careful\n"))
	tr.Output(Stdout, []byte("two"))
	tr.Output(Stdout, []byte("\n"))
	tr.Figure(Figure{Path: "/w/1.png"})
	first := tr.take()
	if diff := cmp.Diff([]string{"one\n", "careful\n", "two\n"}, inTurn(first.pieces)); diff != "" {
		t.Errorf("term_out (-want +got):\n%s", diff)
	}
	if first.stdout != "one\ntwo\n" || first.stderr != "careful\n" || len(first.figures) != 1 {
		t.Errorf("first take: %+v", first)
	}
	tr.Output(Stdout, []byte("three\n"))
	tr.finish()
	second := tr.take()
	if second.stdout != "three\n" || second.stderr != "" || len(second.figures) != 0 {
		t.Errorf("second take: %+v", second)
	}
	if last := tr.lastLine(); last != "three" {
		t.Errorf("last line: %q", last)
	}
}

func TestTranscriptKeepsSplitCharactersWhole(t *testing.T) {
	text := "a€😀\x00é" // one, three, four, one and two bytes
	for cut := 1; cut < len(text); cut++ {
		tr := testTranscript(t.TempDir(), 1<<20, 1<<20)
		tr.Output(Stdout, []byte(text[:cut]))
		tr.Output(Stdout, []byte(text[cut:]))
		tr.finish()
		if got := tr.take().stdout; got != text {
			t.Errorf("cut at %d: %q", cut, got)
		}
	}
}

func TestTranscriptReplacesInvalidBytes(t *testing.T) {
	tr := testTranscript(t.TempDir(), 1<<20, 1<<20)
	tr.Output(Stdout, []byte("a\xffb\xe2\x82"))
	tr.finish()
	if got := tr.take().stdout; got != "a\uFFFDb\uFFFD\uFFFD" {
		t.Errorf("%q", got)
	}
}

func TestTranscriptIsBoundedAndCountsWhatItDrops(t *testing.T) {
	dir := t.TempDir()
	tr := testTranscript(dir, 2000, 1<<20)
	var all strings.Builder
	for i := range 20_000 {
		line := fmt.Sprintf("line %d €\n", i)
		all.WriteString(line)
		tr.Output(Stdout, []byte(line))
	}
	tr.finish()
	x := tr.take()
	if len(x.stdout) > 2000+60 {
		t.Fatalf("%d bytes kept", len(x.stdout))
	}
	head, tail, found := strings.Cut(x.stdout, Marker(x.stdoutTruncated))
	if !found || !strings.HasPrefix(all.String(), head) || !strings.HasSuffix(all.String(), tail) {
		t.Fatalf("head %q… tail …%q", head[:40], tail[len(tail)-40:])
	}
	kept := utf8.RuneCountInString(head) + utf8.RuneCountInString(tail)
	if total := utf8.RuneCountInString(all.String()); int(x.stdoutTruncated)+kept != total {
		t.Errorf("%d dropped and %d kept of %d", x.stdoutTruncated, kept, total)
	}
	if joined := strings.Join(inTurn(x.pieces), ""); !utf8.ValidString(joined) || !strings.HasSuffix(joined, "line 19999 €\n") {
		t.Errorf("term_out ends %q", joined[len(joined)-40:])
	}
	whole, err := os.ReadFile(x.outputPath)
	if err != nil || string(whole) != all.String() {
		t.Errorf("spool at %q holds %d of %d bytes: %v", x.outputPath, len(whole), all.Len(), err)
	}
	tr.close()
}

func TestTranscriptSaysWhatTheSpoolLost(t *testing.T) {
	tr := testTranscript(t.TempDir(), 100, 100_000)
	tr.Output(Stderr, bytes.Repeat([]byte("0123456789"), 20_000))
	tr.finish()
	x := tr.take()
	tr.close()
	if len(x.notes) != 1 || !strings.Contains(x.notes[0], "holds the first 100000 bytes; 100000 more were not kept") {
		t.Errorf("notes: %q", x.notes)
	}
	if info, err := os.Stat(x.outputPath); err != nil || info.Size() != 100_000 {
		t.Errorf("spool: %v %v", info, err)
	}
}

func TestTranscriptLivesWithAFullDisk(t *testing.T) {
	file := t.TempDir() + "/not-a-directory"
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	tr := testTranscript(file, 100, 1<<20)
	tr.Output(Stdout, bytes.Repeat([]byte("x"), 1<<20))
	tr.finish()
	x := tr.take()
	if x.outputPath != "" || len(x.notes) != 1 || !strings.Contains(x.notes[0], "could not be kept") {
		t.Errorf("%q %q", x.outputPath, x.notes)
	}
	if x.stdoutTruncated+100 != 1<<20 {
		t.Errorf("%d truncated", x.stdoutTruncated)
	}
}

func TestSmallOutputNeverTouchesTheDisk(t *testing.T) {
	dir := t.TempDir()
	tr := testTranscript(dir, 1<<20, 1<<20)
	tr.Output(Stdout, bytes.Repeat([]byte("x"), spoolAfter))
	tr.finish()
	tr.take()
	tr.close()
	if entries, _ := os.ReadDir(dir); len(entries) != 0 {
		t.Errorf("%v", entries)
	}
}

func TestLongOutputHasAFileEvenIfNothingWasDropped(t *testing.T) {
	tr := testTranscript(t.TempDir(), 1<<20, 1<<20)
	text := bytes.Repeat([]byte("0123456789"), spoolAfter/8)
	tr.Output(Stdout, text)
	tr.finish()
	x := tr.take()
	tr.close()
	if whole, err := os.ReadFile(x.outputPath); err != nil || !bytes.Equal(whole, text) || x.stdoutTruncated != 0 {
		t.Errorf("%q holds %d bytes: %v", x.outputPath, len(whole), err)
	}
}

// FuzzTranscript checks that however bytes are cut into writes, the text is
// the same as that of one write, valid, and accounted for.
func FuzzTranscript(f *testing.F) {
	dir := f.TempDir()
	f.Add([]byte("a€😀\xff\xe2\x82"), 3, 8)
	f.Add([]byte(strings.Repeat("é\n", 300)), 7, 64)
	f.Fuzz(func(t *testing.T, text []byte, step, limit int) {
		if step < 1 || limit < 8 || limit > 1<<20 {
			t.Skip()
		}
		whole, cut := testTranscript(dir, 1<<22, 0), testTranscript(dir, limit, 0)
		whole.Output(Stdout, text)
		whole.finish()
		for rest := text; len(rest) > 0; {
			n := min(step, len(rest))
			cut.Output(Stdout, rest[:n])
			rest = rest[n:]
		}
		cut.finish()
		want, got := whole.take(), cut.take()
		if got.stdoutTruncated == 0 {
			if got.stdout != want.stdout {
				t.Fatalf("%q is not %q", got.stdout, want.stdout)
			}
			return
		}
		i := strings.Index(got.stdout, Marker(got.stdoutTruncated))
		if i < 0 {
			t.Fatalf("no marker in %q", got.stdout)
		}
		head, tail := got.stdout[:i], got.stdout[i+len(Marker(got.stdoutTruncated)):]
		if !strings.HasPrefix(want.stdout, head) || !strings.HasSuffix(want.stdout, tail) || !utf8.ValidString(got.stdout) {
			t.Fatalf("head %q, tail %q", head, tail)
		}
		if n := utf8.RuneCountInString(head + tail); int64(n)+got.stdoutTruncated != int64(utf8.RuneCountInString(want.stdout)) {
			t.Fatalf("%d kept, %d dropped", n, got.stdoutTruncated)
		}
	})
}

// TestTranscriptKeepsTheNewestArtifactOfAName: those before it are no more.
func TestTranscriptKeepsTheNewestArtifactOfAName(t *testing.T) {
	tr := testTranscript(t.TempDir(), 1<<20, 1<<20)
	tr.Artifact(Artifact{Name: "a", Size: 1, Image: make([]byte, MaxImages)})
	tr.Artifact(Artifact{Name: "b"})
	tr.Artifact(Artifact{Name: "a", Size: 2, Image: make([]byte, MaxImages)})
	got := tr.take().artifacts
	if len(got) != 2 || got[0].Name != "b" || got[1].Size != 2 || got[1].Image == nil || got[1].Replaced != 1 {
		t.Errorf("%d artifacts, the last of size %d, replaced %d", len(got), got[len(got)-1].Size, got[len(got)-1].Replaced)
	}
	if kept := tr.inventory().artifacts; len(kept) != 2 || kept[1].Size != 2 || kept[1].Image != nil {
		t.Errorf("%+v", kept)
	}
}

// TestMarksAreOfTheTextAlone: what display() and clear_output() write for who shows the
// text is in no stream, no file and no progress line.
// TestTranscriptTellsOfSoManyFigures: of more only that there are more.
func TestTranscriptTellsOfSoManyFigures(t *testing.T) {
	tr := newTranscript(t.TempDir(), &Options{OutputLimit: 100, SpoolAfter: 100})
	for i := range maxShown + 5 {
		tr.Figure(Figure{Path: fmt.Sprint(i)})
		tr.Artifact(Artifact{Name: fmt.Sprint(i)})
	}
	x := tr.take()
	if len(x.figures) != maxShown || len(x.artifacts) != maxShown || !slices.ContainsFunc(x.notes, func(note string) bool { return strings.HasPrefix(note, "10 more figures or artifacts") }) {
		t.Errorf("%d figures, %d artifacts, %q", len(x.figures), len(x.artifacts), x.notes)
	}
	if x = tr.take(); len(x.notes) > 0 {
		t.Errorf("told twice: %q", x.notes)
	}
}

// TestPreviewsGiveRoomWhenTaken: a long run shows figures in every answer.
func TestPreviewsGiveRoomWhenTaken(t *testing.T) {
	tr := newTranscript(t.TempDir(), &Options{OutputLimit: 100, SpoolAfter: 100})
	for range 3 {
		tr.Figure(Figure{Path: "large", Preview: make([]byte, MaxImages)})
		tr.Figure(Figure{Path: "over", Preview: []byte{1}})
		x := tr.take()
		if len(x.figures) != 2 || len(x.figures[0].Preview) == 0 || len(x.figures[1].Preview) > 0 {
			t.Errorf("%d figures, previews of %d and %d bytes", len(x.figures), len(x.figures[0].Preview), len(x.figures[1].Preview))
		}
	}
}

func TestMarksAreOfTheTextAlone(t *testing.T) {
	tr := testTranscript(t.TempDir(), 1<<20, 1<<20)
	const printed = "one\x1b]5379;clear-wait\x07two\n\x1b[31mred\x1b[0m\n"
	for i := range printed {
		tr.Output(Stdout, []byte(printed[i:i+1]))
	}
	tr.Output(Stderr, []byte("careful\n"))
	tr.finish()
	if got := tr.lastLine(); got != "careful" {
		t.Errorf("progress: %q", got)
	}
	x := tr.take()
	const want = "onetwo\n\x1b[31mred\x1b[0m\n"
	if diff := cmp.Diff([]string{want, "careful\n"}, inTurn(x.pieces)); diff != "" || x.stdout != want {
		t.Errorf("term_out (-want +got):\n%s, stdout %q", diff, x.stdout)
	}
	if got := string(tr.printed()[Stdout].Text); got != want {
		t.Errorf("kept: %q", got)
	}
	if x.pieces[0].Text != printed {
		t.Errorf("pieces: %q", x.pieces[0].Text)
	}
}
