package output

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
	"unicode/utf8"
)

func documentOf(text string) document {
	return document{strings.NewReader(text), int64(len(text)), &lineIndex{}}
}

func TestPages(t *testing.T) {
	const text = "one\ntwo\nthree\nfour"
	long := strings.Repeat("x", 3*pageBytes)
	for _, test := range []struct {
		text string
		r    Range
		want Page
	}{
		{text, Range{}, Page{Text: text, First: 1, Last: 4}},
		{text + "\n", Range{}, Page{Text: text + "\n", First: 1, Last: 4}},
		{text, Range{From: 2, Lines: 2}, Page{Text: "two\nthree\n", First: 2, Last: 3, Next: 4}},
		{text, Range{From: 4}, Page{Text: "four", First: 4, Last: 4}},
		{text, Range{From: -1}, Page{Text: "four", First: 4, Last: 4}},
		{text + "\n", Range{From: -2}, Page{Text: "three\nfour\n", First: 3, Last: 4}},
		{text, Range{From: -99, Lines: 1}, Page{Text: "one\n", First: 1, Last: 1, Next: 2}},
		{text, Range{From: 9}, Page{First: 9, Last: 8}},
		{text, Range{Match: "t"}, Page{Text: "2: two\n3: three\n", First: 1, Last: 4, Found: 2}},
		{text, Range{Match: "t", Lines: 1}, Page{Text: "2: two\n", First: 1, Last: 2, Found: 1, Next: 3}},
		{text, Range{Match: "t", From: 3}, Page{Text: "3: three\n", First: 3, Last: 4, Found: 1}},
		{text, Range{Match: "^.{4,}$"}, Page{Text: "3: three\n4: four\n", First: 1, Last: 4, Found: 2}},
		{text, Range{Match: "r("}, Page{First: 1, Last: 4}},
		{"f(x\n", Range{Match: "f("}, Page{Text: "1: f(x\n", First: 1, Last: 1, Found: 1}},
		{"", Range{}, Page{First: 1}},
		{"", Range{From: -5, Match: "x"}, Page{First: 1}},
		{"\n\n", Range{From: 2}, Page{Text: "\n", First: 2, Last: 2}},
		{"a\xffb\n", Range{}, Page{Text: "a\ufffdb\n", First: 1, Last: 1}},
		{long, Range{}, Page{Text: long[:pageBytes], First: 1, Last: 1, Next: 2, Cut: true}},
		{"a\n" + long + "\nb", Range{}, Page{Text: "a\n", First: 1, Last: 1, Next: 2}},
		{"a\n" + long + "\nb", Range{From: 3}, Page{Text: "b", First: 3, Last: 3}},
	} {
		page, err := documentOf(test.text).read(t.Context(), test.r)
		if err != nil {
			t.Errorf("%.20q %+v: %v", test.text, test.r, err)
			continue
		}
		test.want.Size = int64(len(test.text))
		if *page != test.want {
			t.Errorf("%.20q %+v:\n%.300v\nwant\n%.300v", test.text, test.r, *page, test.want)
		}
	}
}

func TestPagesEndBetweenCharacters(t *testing.T) {
	for shift := range utf8.UTFMax {
		page, err := documentOf(strings.Repeat("x", shift)+strings.Repeat("😀", pageBytes)).read(t.Context(), Range{})
		if err != nil || !utf8.ValidString(page.Text) || strings.ContainsRune(page.Text, utf8.RuneError) || len(page.Text) < pageBytes-utf8.UTFMax {
			t.Errorf("%d bytes, cut badly: %v", len(page.Text), err)
		}
	}
	line := strings.Repeat("é", 3000) + "needle" + strings.Repeat("é", 3000)
	page, err := documentOf(line).read(t.Context(), Range{Match: "needle"})
	if err != nil || !strings.Contains(page.Text, "needle") || len(page.Text) > 2*longestMatch || strings.ContainsRune(page.Text, utf8.RuneError) {
		t.Errorf("%q %v", page.Text, err)
	}
}

func TestWrongRanges(t *testing.T) {
	for _, r := range []Range{{Lines: -1}, {Match: strings.Repeat("x", longestWords+1)}} {
		_, err := documentOf("x").read(t.Context(), r)
		var refused *RangeError
		if !errors.As(err, &refused) || refused.TooFar {
			t.Errorf("%+v: %v", r, err)
		}
	}
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := documentOf("x").read(gone, Range{Match: "x"}); err == nil {
		t.Error("searched for a caller that has left")
	}
}

// TestPagesOfAHugeText reads around in a text of 300 MB, most of it a hole.
func TestPagesOfAHugeText(t *testing.T) {
	file, err := os.Create(filepath.Join(t.TempDir(), "stdout"))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	var lines bytes.Buffer
	const count = 100_000
	for i := range count {
		fmt.Fprintf(&lines, "line %d\n", i+1)
	}
	const hole = 300_000_000
	for at, text := range map[int64][]byte{0: lines.Bytes(), hole: []byte("\nafter\nlast\n")} {
		if _, err := file.WriteAt(text, at); err != nil {
			t.Fatal(err)
		}
	}
	reader := &countingReader{file: file}
	d := document{reader, hole + int64(len("\nafter\nlast\n")), &lineIndex{}}
	for _, test := range []struct {
		r          Range
		text       string
		first      int
		next, read int
	}{
		{Range{From: 50_000, Lines: 1}, "line 50000\n", 50_000, 50_001, 10 * lineStep},
		{Range{From: -1}, "last\n", count + 3, 0, hole + 10*lineStep},
		{Range{From: -2, Lines: 1}, "after\n", count + 2, count + 3, 3 * lineStep},
		{Range{From: 99_999, Lines: 1}, "line 99999\n", 99_999, 100_000, 3 * lineStep},
		{Range{From: count + 2, Match: "last"}, "100003: last\n", count + 2, 0, 3 * lineStep},
		{Range{From: 99_000, Match: "line 99123"}, "99123: line 99123\n", 99_000, count + 1, searchBytes + 10*lineStep},
	} {
		reader.bytes = 0
		page, err := d.read(t.Context(), test.r)
		if err != nil || page.Text != test.text || page.First != test.first || page.Next != test.next {
			t.Errorf("%+v: %+v %v", test.r, page, err)
		}
		if reader.bytes > test.read {
			t.Errorf("%+v: read %d bytes", test.r, reader.bytes)
		}
	}
}

// zeros is a text without lines.
type zeros struct{}

func (zeros) ReadAt(p []byte, _ int64) (int, error) {
	clear(p)
	return len(p), nil
}

// TestLinesThatAreTooFar: one read looks through so much and no more, and the
// next one goes on.
func TestLinesThatAreTooFar(t *testing.T) {
	d := document{zeros{}, 3*scanBytes/2 + 10, &lineIndex{}}
	_, err := d.read(t.Context(), Range{From: -1})
	var refused *RangeError
	if !errors.As(err, &refused) || !refused.TooFar {
		t.Fatal(err)
	}
	for _, want := range []string{fmt.Sprintf("first %d bytes", scanBytes), "hold 0 lines", "Read again"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%q lacks %q", err, want)
		}
	}
	page, err := d.read(t.Context(), Range{From: -1, Lines: 1})
	if err != nil || page.First != 1 || !page.Cut {
		t.Errorf("%+v %v", page, err)
	}
}

func TestLinesOfFilesAreRemembered(t *testing.T) {
	var x Pager
	path := filepath.Join(t.TempDir(), "a")
	of := func(text string) *lineIndex {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Chtimes(path, time.Time{}, time.Unix(1e9, 0)); err != nil {
			t.Fatal(err)
		}
		info, err := os.Stat(path)
		if err != nil {
			t.Fatal(err)
		}
		return x.linesOf(path, info)
	}
	first := of("one")
	if of("one") != first || of("longer") == first || len(x.all) != 1 {
		t.Errorf("%+v", x.all)
	}
	for i := range 2 * keptIndexes {
		path += fmt.Sprint(i)
		of("one")
	}
	if len(x.all) != keptIndexes || x.all[0].path != path {
		t.Errorf("%+v", x.all)
	}
}

type countingReader struct {
	file  *os.File
	bytes int
}

func (r *countingReader) ReadAt(p []byte, at int64) (int, error) {
	n, err := r.file.ReadAt(p, at)
	r.bytes += n
	return n, err
}

// FuzzPages checks that the pages of a text, one after the other, are the text.
func FuzzPages(f *testing.F) {
	f.Add("one\n\ntwo\nthree", 2)
	f.Fuzz(func(t *testing.T, text string, lines int) {
		if !utf8.ValidString(text) || len(text) > pageBytes {
			return
		}
		d, all := documentOf(text), ""
		for next := 1; next > 0; {
			page, err := d.read(t.Context(), Range{From: next, Lines: 1 + lines&7})
			if err != nil {
				t.Fatal(err)
			}
			all += page.Text
			if page.Next != 0 && page.Next <= next {
				t.Fatalf("%d after %d", page.Next, next)
			}
			next = page.Next
		}
		if all != text {
			t.Errorf("%q became %q", text, all)
		}
	})
}
