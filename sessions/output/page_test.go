package output

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"unicode/utf8"
)

func readPage(ctx context.Context, text string, r Range) (*Page, error) {
	return ReadPage(ctx, strings.NewReader(text), int64(len(text)), r)
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
		{"caf\xe9\n", Range{Match: "\xe9"}, Page{Text: "1: caf\ufffd\n", First: 1, Last: 1, Found: 1}},
		{"", Range{}, Page{First: 1}},
		{"", Range{From: -5, Match: "x"}, Page{First: 1}},
		{"\n\n", Range{From: 2}, Page{Text: "\n", First: 2, Last: 2}},
		{"a\xffb\n", Range{}, Page{Text: "a\ufffdb\n", First: 1, Last: 1}},
		{long, Range{}, Page{Text: long[:pageBytes], First: 1, Last: 1, Next: 2, Cut: true}},
		{"a\n" + long + "\nb", Range{}, Page{Text: "a\n", First: 1, Last: 1, Next: 2}},
		{"a\n" + long + "\nb", Range{From: 3}, Page{Text: "b", First: 3, Last: 3}},
	} {
		page, err := readPage(t.Context(), test.text, test.r)
		if err != nil {
			t.Errorf("%.20q %+v: %v", test.text, test.r, err)
			continue
		}
		test.want.Size = int64(len(test.text))
		expect(t, *page == test.want, "%.20q %+v:\n%.300v\nwant\n%.300v", test.text, test.r, *page, test.want)
	}
}

func TestPagesEndBetweenCharacters(t *testing.T) {
	for shift := range utf8.UTFMax {
		page, err := readPage(t.Context(), strings.Repeat("x", shift)+strings.Repeat("😀", pageBytes), Range{})
		expect(t, err == nil && utf8.ValidString(page.Text) && !strings.ContainsRune(page.Text, utf8.RuneError) && len(page.Text) >= pageBytes-utf8.UTFMax,
			"%d bytes, cut badly: %v", len(page.Text), err)
	}
	line := strings.Repeat("é", 3000) + "needle" + strings.Repeat("é", 3000)
	page, err := readPage(t.Context(), line, Range{Match: "needle"})
	expect(t, err == nil && strings.Contains(page.Text, "needle") && len(page.Text) <= 2*longestMatch && !strings.ContainsRune(page.Text, utf8.RuneError),
		"%q %v", page.Text, err)
}

func TestWrongRanges(t *testing.T) {
	for _, r := range []Range{{Lines: -1}, {Match: strings.Repeat("x", longestWords+1)}} {
		_, err := readPage(t.Context(), "x", r)
		var refused *RangeError
		expect(t, errors.As(err, &refused) && !refused.TooFar, "%+v: %v", r, err)
	}
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := readPage(gone, "x", Range{Match: "x"})
	expect(t, err != nil, "searched for a caller that has left")
}

// TestPagesOfAHugeText reads around in a text of 300 MB, most of it a hole.
func TestPagesOfAHugeText(t *testing.T) {
	t.Parallel()
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
	for _, test := range []struct {
		r     Range
		text  string
		first int
		next  int
	}{
		{Range{From: 50_000, Lines: 1}, "line 50000\n", 50_000, 50_001},
		{Range{From: -1}, "last\n", count + 3, 0},
		{Range{From: -2, Lines: 1}, "after\n", count + 2, count + 3},
		{Range{From: count + 2, Match: "last"}, "100003: last\n", count + 2, 0},
		{Range{From: 99_000, Match: "line 99123"}, "99123: line 99123\n", 99_000, count + 1},
	} {
		page, err := ReadPage(t.Context(), file, hole+int64(len("\nafter\nlast\n")), test.r)
		expect(t, err == nil && page.Text == test.text && page.First == test.first && page.Next == test.next, "%+v: %+v %v", test.r, page, err)
	}
}

// counted is a text that counts what is read of it.
type counted struct {
	*strings.Reader
	read int
}

func (c *counted) ReadAt(p []byte, at int64) (int, error) {
	c.read += len(p)
	return c.Reader.ReadAt(p, at)
}

// TestALatePageIsCountedFromTheOneBefore: else who reads page after page reads all that
// came before with each.
func TestALatePageIsCountedFromTheOneBefore(t *testing.T) {
	text := &counted{Reader: strings.NewReader(strings.Repeat("123456789\n", lineStep))}
	d := document{text, text.Size(), new(atomic.Pointer[place])}
	for _, from := range []int{900_001, 900_101, 900_101, 5} {
		text.read = 0
		page, err := d.read(t.Context(), Range{From: from, Lines: 1})
		expect(t, err == nil && page.First == from && page.Text == "123456789\n" && (from == 900_001 || text.read <= 2*lineStep),
			"line %d: %d bytes read, %+v %v", from, text.read, page, err)
	}
}

// zeros is a text without lines.
type zeros struct{}

func (zeros) ReadAt(p []byte, _ int64) (int, error) {
	clear(p)
	return len(p), nil
}

// TestLinesThatAreTooFar: code can make a file of terabytes that takes no room.
func TestLinesThatAreTooFar(t *testing.T) {
	_, err := ReadPage(t.Context(), zeros{}, 1<<50, Range{From: -1})
	var refused *RangeError
	expect(t, errors.As(err, &refused) && refused.TooFar && strings.Contains(err.Error(), fmt.Sprintf("first %d bytes hold 0 lines", ScanBytes)), "%+v", err)
}

// FuzzPages checks that the pages of a text, one after the other, are the text.
func FuzzPages(f *testing.F) {
	f.Add("one\n\ntwo\nthree", 2)
	f.Fuzz(func(t *testing.T, text string, lines int) {
		if !utf8.ValidString(text) || len(text) > pageBytes {
			return
		}
		all := ""
		for next := 1; next > 0; {
			page, err := readPage(t.Context(), text, Range{From: next, Lines: 1 + lines&7})
			if err != nil {
				t.Fatal(err)
			}
			all += page.Text
			if page.Next != 0 && page.Next <= next {
				t.Fatalf("%d after %d", page.Next, next)
			}
			next = page.Next
		}
		expect(t, all == text, "%q became %q", text, all)
	})
}
