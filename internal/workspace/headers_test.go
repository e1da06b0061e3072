package workspace

import (
	"bytes"
	"encoding/binary"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestLyingArchives changes bytes of good archives.
func TestLyingArchives(t *testing.T) {
	text := strings.Repeat("a line of data\n", 2000)
	good := func() []byte { return zipped(t, file("x", text), file("y", "2")) }
	central := func(data []byte) []byte { // from the header of the first entry in the list
		_, list, _ := bytes.Cut(data, []byte("PK\x01\x02"))
		return data[len(data)-len(list)-4:]
	}
	end := func(data []byte) []byte { return data[bytes.LastIndex(data, []byte("PK\x05\x06")):] }
	word, short := binary.LittleEndian.PutUint32, binary.LittleEndian.PutUint16
	zip := func(change func(data []byte)) []byte {
		data := good()
		change(data)
		return data
	}
	tar := tarred(t, file("x", text))
	packed := gzipped(t, tar)
	damaged := slices.Clone(tar)
	damaged[150] ^= 1
	for _, test := range []struct {
		name, archive string
		data          []byte
		err           string
	}{
		{"size too small", "a.zip", zip(func(data []byte) { word(central(data)[24:], 10) }), `entry "x"`},
		{"size too large", "a.zip", zip(func(data []byte) { word(central(data)[24:], 40_000) }), `entry "x"`},
		{"size of 4 GB", "a.zip", zip(func(data []byte) { word(central(data)[24:], 0xfffffffe) }), `entry "x"`},
		{"checksum", "a.zip", zip(func(data []byte) { word(central(data)[16:], 1) }), `entry "x": zip: checksum error`},
		{"password", "a.zip", zip(func(data []byte) { central(data)[8] |= zipEncrypted }), `entry "x": it is protected with a password`},
		{"method", "a.zip", zip(func(data []byte) { short(central(data)[10:], 14) }), "compressed in a way that can't be read here"},
		{"offset beyond the end", "a.zip", zip(func(data []byte) { word(central(data)[42:], 0x7fffffff) }), `entry "x"`},
		{"count of entries", "a.zip", zip(func(data []byte) { short(end(data)[10:], 9) }), "damaged"},
		{"cut zip", "a.zip", good()[:100], "damaged"},
		{"cut tar", "a.tar", tar[:2000], `entry "x": the archive is cut off`},
		{"cut tar.gz", "a.tar.gz", packed[:len(packed)/2], "cut off"},
		{"tar.gz without its checksum", "a.tar.gz", packed[:len(packed)-6], "cut off"},
		{"tar header", "a.tar", damaged, "no tar file, or it is damaged"},
	} {
		t.Run(test.name, func(t *testing.T) {
			source, p, _, err := prepareArchive(t, test.archive, test.data)
			insist(t, err != nil && contains(err.Error(), source, test.err), "error %v; it should name %s and say %q", err, source, test.err)
			leavesNothing(t, p)
		})
	}
}

// TestOverlap is a zip file whose entries are all the same bytes: each is honest
// of its size, and together they are a bomb.
func TestOverlap(t *testing.T) {
	data := zipped(t, file("x00", strings.Repeat("\x00", 200_000)))
	start, tail := bytes.Index(data, []byte("PK\x01\x02")), bytes.LastIndex(data, []byte("PK\x05\x06"))
	header := data[start:tail]
	out := slices.Clone(data[:start])
	const count = 15
	for i := range count {
		copied := slices.Clone(header)
		copied[46+2] = byte('a' + i)
		out = append(out, copied...)
	}
	closing := slices.Clone(data[tail:])
	binary.LittleEndian.PutUint16(closing[8:], count)
	binary.LittleEndian.PutUint16(closing[10:], count)
	binary.LittleEndian.PutUint32(closing[12:], uint32(count*len(header)))
	_, _, _, err := prepareArchive(t, "a.zip", append(out, closing...))
	expect(t, err != nil && strings.Contains(err.Error(), "more than 50 times its size"), "error %v", err)
}

// TestListIsBounded gives a zip file with more in its list than may be read.
func TestListIsBounded(t *testing.T) {
	names := slices.Repeat([]entry{folder(strings.Repeat("d", 100) + "/")}, 20_000)
	_, _, _, err := prepareArchive(t, "a.zip", zipped(t, names...))
	expect(t, err != nil && strings.Contains(err.Error(), "list of entries is too long"), "error %v", err)
}

// TestModes checks what is kept of modes and times.
func TestModes(t *testing.T) {
	loose := entry{name: "loose", text: "1", mode: 0o777 | os.ModeSetuid}
	_, p, _, err := prepareArchive(t, "a.tar", tarred(t, loose, entry{name: "none", text: "2"}))
	must(t, err)
	for name, want := range map[string]os.FileMode{"loose": 0o755, "none": 0o400} {
		info, err := os.Stat(filepath.Join(p.Input(), "a", name))
		if err != nil || info.Mode() != want || !info.ModTime().Equal(someTime) {
			t.Errorf("%s: mode %v, time %v, %v; want %v, %v", name, info.Mode(), info.ModTime(), err, want, someTime)
		}
	}
}
