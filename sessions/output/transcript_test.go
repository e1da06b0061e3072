package output

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"understudy/internal/check"
)

const spoolAfter = 64 << 10

func testTranscript(dir string, limit int, spoolLimit int64) *Transcript {
	return NewTranscript(dir, Options{Limit: limit, SpoolAfter: spoolAfter, SpoolLimit: spoolLimit, Images: AllImages().ForOne()})
}

// excerptOf is what is handed out of output in these pieces.
func excerptOf(dir string, limit int, spoolLimit int64, pieces ...string) Excerpt {
	tr := testTranscript(dir, limit, spoolLimit)
	defer tr.Close()
	for _, piece := range pieces {
		tr.Output(Stdout, []byte(piece))
	}
	tr.Finish()
	return tr.Take()
}

var expect = check.Expect

func TestTranscriptGivesEachPieceOnce(t *testing.T) {
	tr := testTranscript(t.TempDir(), 1<<20, 1<<20)
	tr.Output(Stdout, []byte("one\n"))
	tr.Output(Stderr, []byte("careful\n"))
	tr.Output(Stdout, []byte("two"))
	tr.Output(Stdout, []byte("\n"))
	tr.Figure(Figure{Path: "/w/1.png"})
	first := tr.Take()
	diff := cmp.Diff([]string{"one\n", "careful\n", "two\n"}, first.Interleaved())
	expect(t, diff == "", "term_out (-want +got):\n%s", diff)
	expect(t, first.Text[Stdout] == "one\ntwo\n" && first.Text[Stderr] == "careful\n" && len(first.Figures) == 1, "first take: %+v", first)
	tr.Output(Stdout, []byte("three\n"))
	tr.Finish()
	second := tr.Take()
	expect(t, second.Text[Stdout] == "three\n" && second.Text[Stderr] == "" && len(second.Figures) == 0, "second take: %+v", second)
	last := tr.LastLine()
	expect(t, last == "three", "last line: %q", last)
}

func TestTranscriptKeepsSplitCharactersWhole(t *testing.T) {
	text := "a€😀\x00é" // one, three, four, one and two bytes
	for cut := 1; cut < len(text); cut++ {
		got := excerptOf(t.TempDir(), 1<<20, 1<<20, text[:cut], text[cut:]).Text[Stdout]
		expect(t, got == text, "cut at %d: %q", cut, got)
	}
	got := excerptOf(t.TempDir(), 1<<20, 1<<20, "a\xffb\xe2\x82").Text[Stdout]
	expect(t, got == "a\uFFFDb\uFFFD\uFFFD", "invalid bytes: %q", got)
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
	tr.Finish()
	x := tr.Take()
	if len(x.Text[Stdout]) > 2000+60 {
		t.Fatalf("%d bytes kept", len(x.Text[Stdout]))
	}
	head, tail, found := strings.Cut(x.Text[Stdout], Marker(x.Truncated[Stdout]))
	if !found || !strings.HasPrefix(all.String(), head) || !strings.HasSuffix(all.String(), tail) {
		t.Fatalf("head %q… tail …%q", head[:40], tail[len(tail)-40:])
	}
	kept := utf8.RuneCountInString(head) + utf8.RuneCountInString(tail)
	total := utf8.RuneCountInString(all.String())
	expect(t, int(x.Truncated[Stdout])+kept == total, "%d dropped and %d kept of %d", x.Truncated[Stdout], kept, total)
	joined := strings.Join(x.Interleaved(), "")
	expect(t, utf8.ValidString(joined) && strings.HasSuffix(joined, "line 19999 €\n"), "term_out ends %q", joined[len(joined)-40:])
	whole, err := os.ReadFile(x.Path)
	expect(t, err == nil && string(whole) == all.String(), "spool at %q holds %d of %d bytes: %v", x.Path, len(whole), all.Len(), err)
	tr.Close()
}

func TestTranscriptSaysWhatTheSpoolLost(t *testing.T) {
	x := excerptOf(t.TempDir(), 100, 100_000, strings.Repeat("0123456789", 20_000))
	expect(t, len(x.Notes) == 1 && strings.Contains(x.Notes[0], "holds the first 100000 bytes; 100000 more were not kept"), "notes: %q", x.Notes)
	info, err := os.Stat(x.Path)
	expect(t, err == nil && info.Size() == 100_000, "spool: %v %v", info, err)
}

func TestTranscriptLivesWithAFullDisk(t *testing.T) {
	file := t.TempDir() + "/not-a-directory"
	check.Must(t, os.WriteFile(file, nil, 0o600))
	x := excerptOf(file, 100, 1<<20, strings.Repeat("x", 1<<20))
	expect(t, x.Path == "" && len(x.Notes) == 1 && strings.Contains(x.Notes[0], "could not be kept"), "%q %q", x.Path, x.Notes)
	expect(t, x.Truncated[Stdout]+100 == 1<<20, "%d truncated", x.Truncated[Stdout])
}

// TestOnlyLongOutputTouchesTheDisk, which has a file even if nothing of it was dropped.
func TestOnlyLongOutputTouchesTheDisk(t *testing.T) {
	dir := t.TempDir()
	excerptOf(dir, 1<<20, 1<<20, strings.Repeat("x", spoolAfter))
	entries, _ := os.ReadDir(dir)
	expect(t, len(entries) == 0, "%v", entries)
	text := strings.Repeat("0123456789", spoolAfter/8)
	x := excerptOf(dir, 1<<20, 1<<20, text)
	whole, err := os.ReadFile(x.Path)
	expect(t, err == nil && string(whole) == text && x.Truncated[Stdout] == 0, "%q holds %d bytes: %v", x.Path, len(whole), err)
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
		whole.Finish()
		for rest := text; len(rest) > 0; {
			n := min(step, len(rest))
			cut.Output(Stdout, rest[:n])
			rest = rest[n:]
		}
		cut.Finish()
		want, got := whole.Take(), cut.Take()
		if got.Truncated[Stdout] == 0 {
			if got.Text[Stdout] != want.Text[Stdout] {
				t.Fatalf("%q is not %q", got.Text[Stdout], want.Text[Stdout])
			}
			return
		}
		i := strings.Index(got.Text[Stdout], Marker(got.Truncated[Stdout]))
		if i < 0 {
			t.Fatalf("no marker in %q", got.Text[Stdout])
		}
		head, tail := got.Text[Stdout][:i], got.Text[Stdout][i+len(Marker(got.Truncated[Stdout])):]
		if !strings.HasPrefix(want.Text[Stdout], head) || !strings.HasSuffix(want.Text[Stdout], tail) || !utf8.ValidString(got.Text[Stdout]) {
			t.Fatalf("head %q, tail %q", head, tail)
		}
		if n := utf8.RuneCountInString(head + tail); int64(n)+got.Truncated[Stdout] != int64(utf8.RuneCountInString(want.Text[Stdout])) {
			t.Fatalf("%d kept, %d dropped", n, got.Truncated[Stdout])
		}
	})
}

// TestTranscriptKeepsTheNewestArtifactOfAName: those before it are no more.
func TestTranscriptKeepsTheNewestArtifactOfAName(t *testing.T) {
	tr := testTranscript(t.TempDir(), 1<<20, 1<<20)
	tr.Artifact(Artifact{Name: "a", Size: 1, Image: make([]byte, MaxImages)})
	tr.Artifact(Artifact{Name: "b"})
	tr.Artifact(Artifact{Name: "a", Size: 2, Image: make([]byte, MaxImages)})
	got := tr.Take().Artifacts
	expect(t, len(got) == 2 && got[0].Name == "b" && got[1].Size == 2 && got[1].Image != nil && got[1].Replaced == 1,
		"%d artifacts, the last of size %d, replaced %d", len(got), got[len(got)-1].Size, got[len(got)-1].Replaced)
	kept := tr.Inventory().Artifacts
	expect(t, len(kept) == 2 && kept[1].Size == 2 && kept[1].Image == nil, "%+v", kept)
}

// TestTranscriptTellsOfSoManyFigures: of more only that there are more.
func TestTranscriptTellsOfSoManyFigures(t *testing.T) {
	tr := testTranscript(t.TempDir(), 100, 0)
	for i := range maxShown + 5 {
		tr.Figure(Figure{Path: fmt.Sprint(i)})
		tr.Artifact(Artifact{Name: fmt.Sprint(i)})
	}
	x := tr.Take()
	expect(t, len(x.Figures)+len(x.Artifacts) == maxShown && slices.ContainsFunc(x.Notes, func(note string) bool { return strings.HasPrefix(note, "1010 more figures or artifacts") }),
		"%d figures, %d artifacts, %q", len(x.Figures), len(x.Artifacts), x.Notes)
	x = tr.Take()
	expect(t, len(x.Notes) == 0, "told twice: %q", x.Notes)
}

// TestPreviewsGiveRoomWhenTaken: a long run shows figures in every answer.
func TestPreviewsGiveRoomWhenTaken(t *testing.T) {
	tr := testTranscript(t.TempDir(), 100, 0)
	for range 3 {
		tr.Figure(Figure{Path: "large", Preview: make([]byte, MaxImages)})
		tr.Figure(Figure{Path: "over", Preview: []byte{1}})
		x := tr.Take()
		expect(t, len(x.Figures) == 2 && len(x.Figures[0].Preview) != 0 && len(x.Figures[1].Preview) == 0,
			"%d figures, previews of %d and %d bytes", len(x.Figures), len(x.Figures[0].Preview), len(x.Figures[1].Preview))
	}
}

// TestMarksAreOfTheTextAlone: what display() and clear_output() write for who shows the
// text is in no stream, no file and no progress line.
func TestMarksAreOfTheTextAlone(t *testing.T) {
	tr := testTranscript(t.TempDir(), 1<<20, 1<<20)
	const printed = "one\x1b]5379;clear-wait\x07two\n\x1b[31mred\x1b[0m\n"
	for i := range printed {
		tr.Output(Stdout, []byte(printed[i:i+1]))
	}
	tr.Output(Stderr, []byte("careful\n"))
	tr.Finish()
	got := tr.LastLine()
	expect(t, got == "careful", "progress: %q", got)
	x := tr.Take()
	const want = "onetwo\n\x1b[31mred\x1b[0m\n"
	diff := cmp.Diff([]string{want, "careful\n"}, x.Interleaved())
	expect(t, diff == "" && x.Text[Stdout] == want, "term_out (-want +got):\n%s, stdout %q", diff, x.Text[Stdout])
	got = string(tr.Printed()[Stdout].Text)
	expect(t, got == want, "kept: %q", got)
	expect(t, x.Pieces[0].Text == printed, "pieces: %q", x.Pieces[0].Text)
}

// A killed server leaves what its runs had printed: all of it, or the last whole lines.
func TestOutputSoFar(t *testing.T) {
	line := func(c string) string { return strings.Repeat(c, 9) + "\n" }
	for _, test := range []struct {
		what       string
		keep, room int
		want       string
	}{
		{"all", 1000, 100, line("a") + line("b") + line("c") + line("d")},
		{"the last lines", 1000, 25, Marker(20) + line("c") + line("d")},
		{"a line more than fits", 1000, 29, Marker(20) + line("c") + line("d")},
		{"the middle is gone", 10, 100, Marker(30) + line("d")},
	} {
		tr := NewTranscript(t.TempDir(), Options{Limit: 2 * test.keep, Images: AllImages().ForOne()})
		for i, c := range []string{"a", "b", "c", "d"} {
			tr.append(Stream(i%2), []byte(line(c)), false)
			tr.Take() // what an answer has is not gone
		}
		got := tr.SoFar(test.room)
		expect(t, got == test.want, "%s: %q, not %q", test.what, got, test.want)
	}
}

// TestWhatCodePutsInPlaceOfAnOutputIsNotOpened: a link may lead to a pipe or a device.
func TestWhatCodePutsInPlaceOfAnOutputIsNotOpened(t *testing.T) {
	link := filepath.Join(t.TempDir(), "stdout")
	if err := os.Symlink("nowhere", link); err != nil {
		t.Fatal(err)
	}
	_, err := openRegular(link)
	expect(t, errors.Is(err, ErrChanged), "it was followed: %v", err)
}
