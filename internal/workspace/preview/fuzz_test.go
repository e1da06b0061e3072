package preview

import (
	"bytes"
	"encoding/binary"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/xuri/excelize/v2"
)

// fuzzReader holds a reader against what must be true of any file.
func fuzzReader(f *testing.F, name string, read reader, seeds ...string) {
	for _, seed := range seeds {
		f.Add([]byte(seed))
		f.Add([]byte(seed)[:len(seed)/2])
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		s := inMemory(data)
		out, err := read(s, &entry{name: name})
		if err != nil {
			return
		}
		for _, line := range append(out.full, out.head) {
			if !utf8.ValidString(line) || strings.ContainsAny(line, "\x00\x1b\x07\r\u202e") {
				t.Fatalf("%q", line)
			}
			if len(line) > 64<<10 {
				t.Fatalf("a line of %d bytes", len(line))
			}
		}
		again, err := read(inMemory(data), &entry{name: name})
		if err != nil || strings.Join(again.full, "\n") != strings.Join(out.full, "\n") {
			t.Fatalf("%q and %q", out, again)
		}
	})
}

func FuzzTable(f *testing.F) {
	fuzzReader(f, "a.csv", readTable, "a,b\n1,2\n", "a;\"b\nc\";d\r\n1;2;3\r", "\ufeffd\n2024-01-01\n", "\xff\xfea\x00\n\x00", "x\ty\n\xe9\t1,5\n", "# no\n\na,b,c\n1,,3\n")
}

func FuzzText(f *testing.F) {
	fuzzReader(f, "a.txt", readTextOrTable, "a\tb\n", "```\n\x1b[1m\n", strings.Repeat("1,2,3\n", 20))
}

func FuzzJSON(f *testing.F) {
	fuzzReader(f, "a.json", readJSON, `{"a":[1,2.5,null,{"b":"c"}],"d":NaN}`, "{}\n{}\n", `[[[[]]]]`, `"\ud800"`)
}

func FuzzParquet(f *testing.F) {
	for _, name := range []string{"trees.parquet", "none.parquet", "v1.parquet"} {
		data, err := os.ReadFile(filepath.Join("testdata", name))
		if err != nil {
			f.Fatal(err)
		}
		length := int(binary.LittleEndian.Uint32(data[len(data)-8:]))
		f.Add(data[len(data)-8-length : len(data)-8])
	}
	f.Fuzz(func(t *testing.T, footer []byte) {
		file := append([]byte("PAR1"), footer...)
		file = binary.LittleEndian.AppendUint32(file, uint32(len(footer)))
		out, err := readParquet(inMemory(append(file, "PAR1"...)), nil)
		if err == nil && !utf8.ValidString(out.head+strings.Join(out.full, "\n")+out.simple) {
			t.Fatalf("%q", out)
		}
	})
}

func FuzzNPY(f *testing.F) {
	fuzzReader(f, "a.npy", readNPY, numpyFile("{'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), }\n"), numpyFile("{'descr': [('a', '<U5')], 'shape': (), }"))
}

func FuzzExcel(f *testing.F) {
	book := excelize.NewFile()
	_ = book.SetSheetRow("Sheet1", "A1", &[]any{"a", 1, true})
	var b bytes.Buffer
	if err := book.Write(&b); err != nil {
		f.Fatal(err)
	}
	f.Add(b.Bytes())
	f.Fuzz(func(t *testing.T, data []byte) {
		// What the library panics at costs the description of that file.
		_, _ = fromMemory(data, readExcel)
	})
}

// fromMemory is file for bytes.
func fromMemory(data []byte, read reader) (out section, err error) {
	defer func() {
		if cause := recover(); cause != nil {
			out, err = section{}, errNothing
		}
	}()
	return read(inMemory(data), &entry{name: "a.xlsx"})
}
