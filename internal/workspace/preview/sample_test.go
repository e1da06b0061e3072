package preview

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// made is a file that is made while it is read: row i of a table that never was
// anywhere.
type made struct {
	size, width int64
	row         func(i int64) string // of width bytes
}

func (m *made) ReadAt(p []byte, offset int64) (int, error) {
	n := 0
	for n < len(p) && offset < m.size {
		row := m.row(offset / m.width)
		if int64(len(row)) != m.width {
			panic(fmt.Sprintf("a row of %d bytes: %q", len(row), row))
		}
		row = row[offset%m.width:]
		k := copy(p[n:], row)
		n, offset = n+k, offset+int64(k)
	}
	if n < len(p) {
		return n, io.EOF
	}
	return n, nil
}

func (m *made) Stat() (fs.FileInfo, error) { return m, nil }
func (m *made) Name() string               { return "made.csv" }
func (m *made) Size() int64                { return m.size }
func (m *made) Mode() fs.FileMode          { return 0 }
func (m *made) ModTime() time.Time         { return time.Time{} }
func (m *made) IsDir() bool                { return false }
func (m *made) Sys() any                   { return nil }

// sourceOf reads a file with the usual budget.
func sourceOf(f interface {
	file
	fs.FileInfo
}) *source {
	o := Options{}.withDefaults()
	return (&budget{ctx: context.Background(), left: o.TotalBytes, each: o.FileBytes}).source(f, f)
}

// memory is a file in memory.
type memory struct {
	*made
	*bytes.Reader
}

func (m memory) ReadAt(p []byte, offset int64) (int, error) { return m.Reader.ReadAt(p, offset) }
func (m memory) Size() int64                                { return m.Reader.Size() }
func (m memory) Stat() (fs.FileInfo, error)                 { return m, nil }

func inMemory(data []byte) *source { return sourceOf(memory{&made{}, bytes.NewReader(data)}) }

// TestFiveGigabytes: a table of 5 GB whose texts hold line ends, delimiters and quotes
// is sampled, the blocks are aligned, and the estimate is near.
func TestFiveGigabytes(t *testing.T) {
	const width, rows = 100, 50_000_000
	m := &made{size: width * rows, width: width, row: func(i int64) string {
		if i == 0 {
			return "id,word,note," + strings.Repeat("v", width-len("id,word,note,\n")) + "\n"
		}
		value := "1.5"
		if i%10 == 0 {
			value = ""
		}
		start := fmt.Sprintf("%010d,%s,\"a, \"\"b\"\"\nc,d,e\n", i, []string{"ash", "elm", "oak"}[i%3])
		end := "\"," + value + "\n"
		return start + strings.Repeat("z", width-len(start)-len(end)-3) + ",y\n" + end
	}}
	s := sourceOf(m)
	out, err := readTable(s, &entry{name: "made.csv"})
	if err != nil {
		t.Fatal(err)
	}
	text := out.head + "\n" + strings.Join(out.full, "\n")
	for _, want := range []string{"CSV: about 50,000,000 rows, from a sample of ", "; 4 columns\n", `text, 3 distinct: "elm", "oak", "ash"`, "number, 1.5, 10% missing", "- id: integer, ", "some with leading zeros"} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is not in:\n%s", want, text)
		}
	}
	if strings.Contains(text, "another number of fields") {
		t.Error(text)
	}
	if limit := int64(headBytes + blocks*blockBytes); s.read > limit || s.read < limit*9/10 {
		t.Errorf("%d bytes were read, %d wanted", s.read, limit)
	}
}

// TestSparseFile: the same through a file on disk that takes no room there.
func TestSparseFile(t *testing.T) {
	dir := put(t, map[string]string{"large.csv": "a,b\n" + strings.Repeat("1,2\n", 1<<18), "zeros.csv": ""})
	for _, name := range []string{"large.csv", "zeros.csv"} {
		if err := os.Truncate(filepath.Join(dir, name), 5<<30); err != nil {
			t.Skip("no sparse files here: ", err)
		}
	}
	text, took, err := describe(t.Context(), dir, Options{Time: time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	if took.read > 2*(headBytes+blocks*blockBytes) {
		t.Errorf("%d bytes were read", took.read)
	}
	if !strings.Contains(text, "large.csv (5.4 GB)") || !strings.Contains(text, "zeros.csv (5.4 GB: not a text)") {
		t.Error(text)
	}
}

func TestLargeLines(t *testing.T) {
	m := &made{size: 5_000_000_000, width: 50, row: func(i int64) string {
		return fmt.Sprintf("{\"id\": %010d, \"t\": \"%022d\"}\n", 1_000_000_000+i, i)
	}}
	out, err := readJSONLines(sourceOf(m), &entry{name: "a.jsonl"})
	if err != nil {
		t.Fatal(err)
	}
	if !strings.HasPrefix(out.head, "JSON lines: about 100,000,000 lines, from a sample of ") || strings.Contains(out.head, "not valid") {
		t.Error(out.head)
	}
	m.row = func(int64) string { return "[1,2,3,4],[1,2,3,4],[1,2,3,4],[1,2,3,4],[1,2,3,4]," }
	if out, err := readJSONLines(sourceOf(m), &entry{name: "a.jsonl"}); err == nil {
		t.Error(out)
	}
	m.row = func(i int64) string {
		if i == 0 {
			return "[" + strings.Repeat("[12,345],", 5) + "    "
		}
		return strings.Repeat("[12,345],", 5) + "     "
	}
	out, err = readJSON(sourceOf(m), &entry{name: "a.json"})
	if err != nil || !strings.HasPrefix(out.head, "JSON, of which the first 1.0 MB were read: array of ") {
		t.Errorf("%v %v", out, err)
	}
}

// TestPackedTable: of a compressed table the beginning is read, and the rest estimated.
func TestPackedTable(t *testing.T) {
	var b strings.Builder
	b.WriteString("id,value\n")
	random := rand.New(rand.NewPCG(1, 2))
	for i := range 400_000 {
		fmt.Fprintf(&b, "%d,%d\n", 1_000_000+i, 100_000_000+random.IntN(100_000_000))
	}
	data := packed(b.String())
	out, err := readTable(inMemory([]byte(data)), &entry{name: "a.csv.gz"})
	if err != nil {
		t.Fatal(err)
	}
	var rows int
	if _, err := fmt.Sscanf(strings.NewReplacer(",", "", "about ", "").Replace(out.head), "CSV: %d rows", &rows); err != nil || rows < 390_000 || rows > 410_000 {
		t.Errorf("%s: %d rows, %v", out.head, rows, err)
	}
}

// TestAnyBlock: wherever a block is cut out of a text with quoted line ends, the rows
// that are found in it are those of the text.
func TestAnyBlock(t *testing.T) {
	var b strings.Builder
	random := rand.New(rand.NewPCG(3, 4))
	for i := range 3000 {
		fmt.Fprintf(&b, "%d,\"%s\",x%d\n", i, strings.Repeat([]string{"word ", "a,b\n", "say \"\"yes\"\", ", "\n1,2,3\n"}[random.IntN(4)], random.IntN(5)), i)
	}
	text := []byte(b.String())
	for range 300 {
		from := random.IntN(len(text) - 8000)
		r := recordReader{text: align(text[from:from+8000], ',', 3), delimiter: ','}
		found := 0
		for r.next() && r.complete {
			if r.count != 3 || "x"+string(r.fields[0]) != string(r.fields[2]) {
				t.Fatalf("at %d: %q in %.120q, from %.150q", from, r.fields, r.text, text[from:])
			}
			found++
		}
		if found < 20 {
			t.Fatalf("at %d: %d rows", from, found)
		}
	}
}

// TestChange: a file that changes while it is read is described, and it is said.
func TestChange(t *testing.T) {
	dir := put(t, map[string]string{"a.csv": "a,b\n1,2\n"})
	p, err := openPlace(dir, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer p.close()
	l := &looker{place: p, budget: &budget{ctx: t.Context(), left: 1 << 20, each: 1 << 20}}
	for change, want := range map[string]string{"a,b\n1,2\n3,4\n": "; it changed while it was read", "": "; it changed while it was read"} {
		out, err := l.file(&entry{path: "a.csv"}, func(*source, *entry) (section, error) {
			return section{head: "x"}, os.WriteFile(filepath.Join(dir, "a.csv"), []byte(change), 0o600)
		})
		if err != nil || out.head != "x"+want {
			t.Errorf("%q: %v %v", change, out, err)
		}
	}
}
