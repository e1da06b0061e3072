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
	for _, test := range []struct {
		name, archive string
		data          func() []byte
		err           string
	}{
		{"size too small", "a.zip", func() []byte {
			data := good()
			binary.LittleEndian.PutUint32(central(data)[24:], 10)
			return data
		}, `entry "x"`},
		{"size too large", "a.zip", func() []byte {
			data := good()
			binary.LittleEndian.PutUint32(central(data)[24:], 40_000)
			return data
		}, `entry "x"`},
		{"size of 4 GB", "a.zip", func() []byte {
			data := good()
			binary.LittleEndian.PutUint32(central(data)[24:], 0xfffffffe)
			return data
		}, `entry "x"`},
		{"checksum", "a.zip", func() []byte {
			data := good()
			binary.LittleEndian.PutUint32(central(data)[16:], 1)
			return data
		}, `entry "x": zip: checksum error`},
		{"password", "a.zip", func() []byte {
			data := good()
			central(data)[8] |= zipEncrypted
			return data
		}, `entry "x": it is protected with a password`},
		{"method", "a.zip", func() []byte {
			data := good()
			binary.LittleEndian.PutUint16(central(data)[10:], 14)
			return data
		}, "compressed in a way that can't be read here"},
		{"offset beyond the end", "a.zip", func() []byte {
			data := good()
			binary.LittleEndian.PutUint32(central(data)[42:], 0x7fffffff)
			return data
		}, `entry "x"`},
		{"count of entries", "a.zip", func() []byte {
			data := good()
			binary.LittleEndian.PutUint16(end(data)[10:], 9)
			return data
		}, "damaged"},
		{"cut zip", "a.zip", func() []byte { return good()[:100] }, "damaged"},
		{"cut tar", "a.tar", func() []byte { return tarred(t, file("x", text))[:2000] }, `entry "x": the archive is cut off`},
		{"cut tar.gz", "a.tar.gz", func() []byte { return cutShort(gzipped(t, tarred(t, file("x", text)))) }, "cut off"},
		{"tar.gz without its checksum", "a.tar.gz", func() []byte {
			data := gzipped(t, tarred(t, file("x", text)))
			return data[:len(data)-6]
		}, "cut off"},
		{"tar header", "a.tar", func() []byte {
			data := tarred(t, file("x", text))
			data[150] ^= 1
			return data
		}, "no tar file, or it is damaged"},
	} {
		t.Run(test.name, func(t *testing.T) {
			source := filepath.Join(t.TempDir(), test.archive)
			must(t, os.WriteFile(source, test.data(), 0o644))
			p, _, err := prepare(t, source)
			if err == nil || !contains(err.Error(), source, test.err) {
				t.Fatalf("error %v; it should name %s and say %q", err, source, test.err)
			}
			if left := tree(t, p.Dir()); !slices.Equal(left, emptyWorkspace) {
				t.Errorf("left behind: %v", left)
			}
		})
	}
}

func cutShort(data []byte) []byte { return data[:len(data)/2] }

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
	source := filepath.Join(t.TempDir(), "a.zip")
	must(t, os.WriteFile(source, append(out, closing...), 0o644))
	if _, _, err := prepare(t, source); err == nil || !strings.Contains(err.Error(), "more than 50 times its size") {
		t.Errorf("error %v", err)
	}
}

// TestListIsBounded gives a zip file with more in its list than may be read.
func TestListIsBounded(t *testing.T) {
	names := make([]entry, 20_000)
	for i := range names {
		names[i] = folder(strings.Repeat("d", 100) + "/")
	}
	source := filepath.Join(t.TempDir(), "a.zip")
	must(t, os.WriteFile(source, zipped(t, names...), 0o644))
	if _, _, err := prepare(t, source); err == nil || !strings.Contains(err.Error(), "list of entries is too long") {
		t.Errorf("error %v", err)
	}
}

// TestModes checks what is kept of modes and times.
func TestModes(t *testing.T) {
	source := filepath.Join(t.TempDir(), "a.tar")
	loose := entry{name: "loose", text: "1", mode: 0o777 | os.ModeSetuid}
	must(t, os.WriteFile(source, tarred(t, loose, entry{name: "none", text: "2"}), 0o644))
	p, _, err := prepare(t, source)
	must(t, err)
	for name, want := range map[string]os.FileMode{"loose": 0o755, "none": 0o400} {
		info, err := os.Stat(filepath.Join(p.Input(), "a", name))
		if err != nil || info.Mode() != want || !info.ModTime().Equal(someTime) {
			t.Errorf("%s: mode %v, time %v, %v; want %v, %v", name, info.Mode(), info.ModTime(), err, want, someTime)
		}
	}
}
