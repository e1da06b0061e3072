package preview

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/binary"
	"fmt"
	"image"
	"image/png"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"
	"unicode/utf16"

	"github.com/xuri/excelize/v2"
)

func TestMain(m *testing.M) {
	panicked = func(cause any, stack []byte) { panic(fmt.Sprintf("%v\n%s", cause, stack)) }
	os.Exit(m.Run())
}

// put writes files and returns their directory.
func put(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, data := range files {
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(data), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func previewOf(t *testing.T, dir string, o Options) string {
	t.Helper()
	o.Time = time.Minute
	text, err := Describe(t.Context(), dir, o)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func wide(text string, order binary.AppendByteOrder) string {
	var raw []byte
	for _, unit := range utf16.Encode([]rune(text)) {
		raw = order.AppendUint16(raw, unit)
	}
	return string(raw)
}

func packed(text string) string {
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	_, _ = w.Write([]byte(text))
	_ = w.Close()
	return b.String()
}

func picture(w, h int) string {
	var b bytes.Buffer
	_ = png.Encode(&b, image.NewGray(image.Rect(0, 0, w, h)))
	return b.String()
}

func numpyFile(header string) string {
	return "\x93NUMPY\x01\x00" + string(binary.LittleEndian.AppendUint16(nil, uint16(len(header)))) + header
}

func fixture(t *testing.T, name string) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// TestFiles says of each file what must be told of it.
func TestFiles(t *testing.T) {
	const people = "name,age,city\nAnn,31,Rome\nBob,,Bonn\nCid,47,Rome\n"
	wideHeader := make([]string, 100_000)
	for i := range wideHeader {
		wideHeader[i] = fmt.Sprintf("f%d", i)
	}
	for name, c := range map[string]struct {
		file, data string
		want       []string
	}{
		"plain":                   {"a.csv", people, []string{"CSV: 3 rows × 3 columns\n", "- age: integer, 31 to 47, 2 distinct, 1 missing (33%)", `- city: text, 2 distinct: "Rome", "Bonn"`, `- name: text, all distinct, such as "Ann", "Bob", "Cid"`}},
		"no end of line":          {"a.csv", strings.TrimSpace(people), []string{"3 rows × 3 columns"}},
		"CR LF":                   {"a.csv", strings.ReplaceAll(people, "\n", "\r\n"), []string{"3 rows × 3 columns", "31 to 47"}},
		"CR":                      {"a.csv", strings.ReplaceAll(people, "\n", "\r"), []string{"3 rows × 3 columns", "31 to 47"}},
		"tabs":                    {"a.csv", strings.ReplaceAll(people, ",", "\t"), []string{"Tab-separated: 3 rows × 3 columns"}},
		"semicolons":              {"a.csv", "x;y\n1,5;a\n2,25;b\n", []string{`CSV with delimiter ";": 2 rows × 2 columns`, "- x: number with a decimal comma"}},
		"bars":                    {"a.psv", strings.ReplaceAll(people, ",", "|"), []string{`delimiter "|": 3 rows × 3 columns`}},
		"one column":              {"a.csv", "x\n1\n2\n", []string{"2 rows × 1 column\n", "- x: integer, 1 to 2"}},
		"no header":               {"a.csv", "5.1,3.5,setosa\n4.9,3.0,setosa\n", []string{"2 rows × 3 columns; no header", "- column 1: number, 4.9 to 5.1"}},
		"two columns of one name": {"a.csv", "id,score,score\n1,2,3\n4,5,6\n", []string{"2 rows × 3 columns\n", "- score: integer, 2 to 5"}},
		"a word twice":            {"a.csv", "alice,rome,rome\nbob,oslo,rome\n", []string{"2 rows × 3 columns; no header"}},
		"a picture":               {"a.csv", "![x](http://e/?a),y\n1,2\n", []string{"- ` ![x](http://e/?a) `: integer, 1"}},
		"a thousand or one":       {"a.csv", "pop,x\n\"1,234\",a\n\"950,000\",b\n", []string{"- pop: number with commas, between thousands or decimal"}},
		"thousands":               {"a.csv", "pop,x\n\"1,234,567\",a\n\"950,000\",b\n", []string{"- pop: number with commas between thousands"}},
		"years are a header":      {"a.csv", "country,1960,1961,1962\nA,1,2,3\n", []string{"1 row × 4 columns\n", "- 1961: integer, 2"}},
		"only a header":           {"a.csv", "a,b,c\n", []string{"0 rows × 3 columns", "- a: empty"}},
		"quoted lines":            {"a.csv", "a,b\n\"x\ny, \"\"z\"\"\",1\n", []string{"1 row × 2 columns", `- a: text, a single value: "x y, \"z\""`}},
		"open quote":              {"a.csv", "a,b\n1,2\n3,\"4\n5,6\n", []string{"2 rows × 2 columns", "a quote in the last row is not closed"}},
		"ragged":                  {"a.csv", "a,b,c\n1,2,3\n4,5\n6,7,8\n", []string{"3 rows × 3 columns; 1 row has another number of fields"}},
		"lines before":            {"a.csv", "Report of 2024\n\na,b,c\n1,2,3\n4,5,6\n7,8,9\n", []string{"3 rows × 3 columns; the first 1 line of the file is not of the table", "- a: integer, 1 to 7"}},
		"names of rows":           {"a.tsv", "a\tb\nr1\t1\t2\nr2\t3\t4\n", []string{"2 rows × 3 columns", "- (row names): text", "- b: integer, 2 to 4"}},
		"UTF-8 with mark":         {"a.csv", "\ufeff" + people, []string{"CSV, encoding utf-8-sig: 3 rows", "- name: text"}},
		"UTF-16 little":           {"a.csv", "\xff\xfe" + wide(people, binary.LittleEndian), []string{"encoding utf-16: 3 rows × 3 columns", "- name: text"}},
		"UTF-16 big":              {"a.csv", "\xfe\xff" + wide(people, binary.BigEndian), []string{"encoding utf-16: 3 rows"}},
		"UTF-16 without mark":     {"a.csv", wide(people, binary.LittleEndian), []string{"encoding utf-16-le: 3 rows"}},
		"cp1252":                  {"a.csv", "n,p\ncaf\xe9,\x80 5\n", []string{"encoding cp1252: 1 row", `"café"`, `"€ 5"`}},
		"broken UTF-8":            {"a.csv", "n,p\ncafé,ü\nx\xff,ä\n", []string{"encoding utf-8 with 1 broken byte: 2 rows", `"x` + "\uFFFD" + `"`}},
		"NULs":                    {"a.csv", "a,b\n1,\x00\x00\x00\n", []string{"a.csv (10 B: not a text)"}},
		"empty":                   {"a.csv", "", []string{"a.csv (0 B: empty)"}},
		"blank":                   {"a.csv", "\n\n\n", []string{"a.csv (3 B: "}},
		"gzip":                    {"a.csv.gz", packed(people), []string{"CSV: 3 rows × 3 columns"}},
		"not gzip":                {"a.csv.gz", people, []string{"can't be unpacked"}},
		"cut gzip":                {"a.csv.gz", packed(strings.Repeat(people, 2000))[:100], []string{"a.csv.gz (100 B"}},
		"dates":                   {"a.csv", "d,e\n2024-01-05,3.4.2021\n2023-12-31,24.12.2020\n", []string{"- d: date, 2023-12-31 to 2024-01-05", "- e: date"}},
		"times":                   {"a.csv", "d,e\n2024-01-05T10:20:30Z,1\n2023-12-31T00:00:00Z,1\n", []string{"- d: date, 2023-12-31 00:00 to 2024-01-05 10:20"}},
		"numbers and a word":      {"a.csv", "n,m\n" + strings.Repeat("1.5,2\n", 39) + "unknown,2\n", []string{`- n: number, 1.5, but 2.5% of the cells are text, such as "unknown"`}},
		"leading zeros":           {"a.csv", "zip,x\n00501,1\n10001,2\n", []string{"- zip: integer, 501 to 10001, some with leading zeros"}},
		"booleans":                {"a.csv", "b,x\nTrue,1\nFalse,2\n", []string{`- b: boolean, 2 distinct: "True", "False"`}},
		"all missing":             {"a.csv", "b,x\nNA,1\nnull,2\n", []string{"- b: empty"}},
		"control characters":      {"a.csv", "b,x\n\x1b[31mred\x07\u202e,1\n", []string{`"[31mred"`}},
		"long cells":              {"a.csv", "b,x\n" + strings.Repeat("é", 500) + ",1\n", []string{`"` + strings.Repeat("é", 60) + `…"`}},
		"100,000 columns":         {"a.csv", strings.Join(wideHeader, ",") + "\n" + strings.Repeat("1,", 99_999) + "2\n", []string{"1 row × 100,000 columns", "- f99999: integer, 2", "… 99,950 columns between them (550 integer, 99400 not looked into)"}},
		"table in a text":         {"a.data", strings.Repeat("5.1,3.5,1.4\n", 20), []string{"CSV: 20 rows × 3 columns; no header"}},
		"short text":              {"a.md", "# Data\n```\nx\n```\n", []string{"Text, 4 lines:\n````\n# Data\n```\nx\n```\n````"}},
		"long text":               {"a.txt", strings.Repeat("a line\n", 50), []string{"Text, 50 lines; it begins:\n```\na line\n"}},
		"code":                    {"a.py", "def f():\n\treturn 1\n", []string{"def f():\n    return 1"}},
		"JSON":                    {"a.json", `[{"id":1,"t":["x"],"o":{"p":null}},{"id":2.5,"t":[],"n":NaN}]`, []string{"JSON: array of 2 elements, each object", "- id: number, 1 to 2.5", `- t: array of 0 to 1 element, each text, such as "x"`, "  - p: null", "- n: null (in 50% of them)"}},
		"JSON object":             {"a.json", `{"b":true,"s":"NaN"}`, []string{"JSON: object", "- b: boolean", `- s: text, such as "NaN"`}},
		"JSON that is lines":      {"a.json", "{\"a\":1}\n{\"a\":2}\n", []string{"JSON lines: 2 lines, each object", "- a: integer, 1 to 2"}},
		"broken JSON":             {"a.json", `{"a":`, []string{"a.json (5 B: not valid JSON at byte 5)"}},
		"deep JSON":               {"a.json", strings.Repeat("[", 100_000) + strings.Repeat("]", 100_000), []string{"JSON: array"}},
		"JSON lines":              {"a.jsonl", "{\"a\":1}\n\n{\"a\":\"x\"}\n{broken\n", []string{"JSON lines: 3 lines, each object", "33% of the lines are not valid JSON", `- a: integer, 1 or text, such as "x"`}},
		"many keys":               {"a.json", "{" + manyKeys(1000) + `"z":1}`, []string{"… 971 more keys"}},
		"npy":                     {"a.npy", numpyFile("{'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), }\n"), []string{"numpy array: 3 × 4, float32"}},
		"npy that lies":           {"a.npy", "\x93NUMPY\x02\x00\xff\xff\xff\xff{", []string{"a.npy (13 B: not a file of numpy's)"}},
		"Parquet":                 {"a.parquet", fixture(t, "trees.parquet"), []string{"Parquet: 1,000 rows × 11 columns, 4 row groups", "- id: integer, 1 to 1000\n", "- price: number, 0.125 to 124.875, 250 missing (25%)", `- name: text, "ash" to "oak"`, "- day: date, 2024-01-01 to 2024-12-31", "- at: timestamp, 2024-01-01 00:00:00 to 2024-02-11 15:00:00", "- ok: boolean", "- cost: decimal", "- tags.list.element: text", "- place.x: integer, 0 to 999", "- raw: bytes"}},
		"Parquet without rows":    {"a.parquet", fixture(t, "none.parquet"), []string{"Parquet: 0 rows × 2 columns", "- price: number\n"}},
		"Parquet of old":          {"a.parquet", fixture(t, "v1.parquet"), []string{"Parquet: 1,000 rows × 3 columns, 1 row group", "- name: text\n"}},
		"cut Parquet":             {"a.parquet", fixture(t, "v1.parquet")[:3000], []string{"not a Parquet file, or not a whole one"}},
		"Parquet that lies":       {"a.parquet", "PAR1\x15\x02\xff\xff\xff\xffPAR1", []string{"its footer is damaged"}},
		"no workbook":             {"a.xlsx", "PK nothing", []string{"can't be read as a workbook"}},
		"picture":                 {"a.png", picture(7, 5), []string{"Pictures: 1 .png: 7×5"}},
		"no picture":              {"a.png", "nothing", []string{"Pictures: 1 .png; 1 can't be read"}},
		"name of a file":          {"a\x1b[1m\n```.csv", people, []string{"a[1m ```.csv", "### ```` a[1m ```.csv ````\nCSV: 3 rows"}},
	} {
		t.Run(name, func(t *testing.T) {
			if runtime.GOOS == "windows" && strings.ContainsAny(c.file, "\n") {
				t.Skip("no such names here")
			}
			text := previewOf(t, put(t, map[string]string{c.file: c.data}), Options{Characters: 100_000})
			for _, want := range c.want {
				if !strings.Contains(text, want) {
					t.Errorf("%q is not in:\n%s", want, text)
				}
			}
		})
	}
}

func manyKeys(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, `"k%d":1,`, i)
	}
	return b.String()
}

func TestWorkbook(t *testing.T) {
	book := excelize.NewFile()
	for i, row := range [][]any{{"when", "n", "ok"}, {nil, 1.5, true}, {nil, 2, false}} {
		if err := book.SetSheetRow("Sheet1", fmt.Sprintf("A%d", i+1), &row); err != nil {
			t.Fatal(err)
		}
	}
	style, _ := book.NewStyle(&excelize.Style{NumFmt: 14})
	_ = book.SetCellStyle("Sheet1", "A2", "A3", style)
	_ = book.SetCellValue("Sheet1", "A2", 45000)
	_ = book.SetCellValue("Sheet1", "A3", 45001)
	_, _ = book.NewSheet("Empty")
	_, _ = book.NewSheet("Far")
	_ = book.SetCellValue("Far", "B1048576", "lone")
	long, _ := book.NewStreamWriter(func() string { _, _ = book.NewSheet("Long"); return "Long" }())
	_ = long.SetRow("A1", []any{"x"})
	for i := range 5000 {
		_ = long.SetRow(fmt.Sprintf("A%d", i+2), []any{i})
	}
	if err := long.Flush(); err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if err := book.SaveAs(filepath.Join(dir, "a.xlsx")); err != nil {
		t.Fatal(err)
	}
	text := previewOf(t, dir, Options{})
	for _, want := range []string{
		"Excel, 4 sheets", `Sheet "Sheet1": 2 rows × 3 columns`, "- when: date, 2023-03-15 to 2023-03-16", "- n: number, 1.5 to 2", `- ok: boolean, 2 distinct: "TRUE", "FALSE"`,
		`Sheet "Empty": empty`, `Sheet "Far": nothing in the first 2,000 rows`, `Sheet "Long": 5,000 rows × 1 column; the columns are described from the first 1,999 rows`,
	} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is not in:\n%s", want, text)
		}
	}
}

// TestTree: of many files some are named, of every kind one, and the rest is counted.
func TestTree(t *testing.T) {
	files := map[string]string{}
	for i := range 133 {
		files[fmt.Sprintf("pictures/%d.png", i)] = picture(3, 2)
	}
	files["pictures/zz.csv"] = "a,b\n1,2\n"
	for i := range 9 {
		files[fmt.Sprintf("nine/part-%d.bin", i+1)] = "x"
	}
	for i := range 40 {
		files[fmt.Sprintf("many/d%d/f.bin", i)] = "xy"
	}
	text := previewOf(t, put(t, files), Options{Name: "data"})
	for _, want := range []string{
		"data/ (183 files, ", "  pictures/ (134 files, ", "    zz.csv (8 B)", "… and 130 other files: 130 .png (", "    part-8.bin (1 B)\n    … and 1 other file: 1 .bin (1 B)\n",
		"    … and 36 other directories (36 files, 72 B)", "### pictures/*\nPictures: 133 .png; of 24 that were looked at: 3×2 (24)", "### pictures/zz.csv",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is not in:\n%s", want, text)
		}
	}
}

// TestSimpleForm: what is too long in full is told by names, and cut at a section's end.
func TestSimpleForm(t *testing.T) {
	files := map[string]string{}
	for i := range 8 {
		var names, values []string
		for k := range 45 {
			names, values = append(names, fmt.Sprintf("the_column_%d_%d", i, k)), append(values, fmt.Sprintf("value %d", k))
		}
		files[fmt.Sprintf("%d.csv", i)] = strings.Join(names, ",") + "\n" + strings.Join(values, ",") + "\n"
	}
	dir := put(t, files)
	full := previewOf(t, dir, Options{Characters: 100_000})
	simple := previewOf(t, dir, Options{})
	cut := previewOf(t, dir, Options{Characters: 2000})
	if !strings.Contains(full, `- the_column_7_44: text, a single value: "value 44"`) {
		t.Error(full)
	}
	for _, text := range []string{simple, cut} {
		if strings.Contains(text, "value 44") || !strings.Contains(text, "Columns: the_column_0_0, the_column_0_1, ") {
			t.Error(text)
		}
	}
	if !strings.HasSuffix(simple, "[the descriptions of 1 more file are left out]\n") || len([]rune(simple)) > 6000 || len([]rune(simple)) < 4500 {
		t.Errorf("%d: %s", len(simple), simple)
	}
	if !strings.HasSuffix(cut, "[the descriptions of 6 more files are left out]\n") || len(cut) > 2000 {
		t.Errorf("%d: %s", len(cut), cut)
	}
	if tiny := previewOf(t, dir, Options{Characters: 100}); len([]rune(tiny)) > 100 || !strings.Contains(tiny, "left out]") {
		t.Errorf("%d: %s", len(tiny), tiny)
	}
}

func TestSameTwice(t *testing.T) {
	dir := put(t, map[string]string{"a.csv": "a,b\n1,x\n2,y\n", "b/c.json": `{"x":[1,2]}`, "d.txt": "hello", "e.parquet": fixture(t, "trees.parquet"), "p.png": picture(2, 2)})
	if a, b := previewOf(t, dir, Options{}), previewOf(t, dir, Options{}); a != b {
		t.Errorf("%s\n%s", a, b)
	}
}

// TestBudgetIsForAll: what is read of many files stays within the budget, and the
// tree says which were not looked into.
func TestBudgetIsForAll(t *testing.T) {
	files := map[string]string{}
	for i := range 6 {
		files[fmt.Sprintf("%d.csv", i)] = "n,m\n" + strings.Repeat("12345,67890\n", 20_000)
	}
	o := Options{TotalBytes: 600_000, FileBytes: 300_000, Time: time.Minute}
	text, took, err := describe(t.Context(), put(t, files), o)
	if err != nil {
		t.Fatal(err)
	}
	if took.read > o.TotalBytes || took.read < o.TotalBytes/2 {
		t.Errorf("%d bytes were read", took.read)
	}
	for _, want := range []string{"CSV: 20,000 rows × 2 columns", "not looked into: enough was read of the others)"} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is not in:\n%s", want, text)
		}
	}
}

func TestEndedContext(t *testing.T) {
	dir := put(t, map[string]string{"a.csv": "a,b\n1,2\n"})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if text, err := Describe(ctx, dir, Options{}); err == nil {
		t.Error(text)
	}
	text, took, err := describe(t.Context(), dir, Options{Time: 1})
	if err != nil || !took.hasted || !strings.Contains(text, "not all was looked at") {
		t.Errorf("%v %v %s", took, err, text)
	}
}
