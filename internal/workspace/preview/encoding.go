package preview

import (
	"bytes"
	"encoding/binary"
	"unicode/utf16"
	"unicode/utf8"

	"golang.org/x/text/encoding/charmap"
)

// The encodings that are told apart, by the names that Python has for them.
const (
	utf16LE = "utf-16-le"
	utf16BE = "utf-16-be"
	cp1252  = "cp1252"
)

var utf8Mark = []byte("\xef\xbb\xbf")

// decode makes UTF-8 of the blocks and says what they were.
func (t *sample) decode(raw [][]byte) {
	t.wide = 1
	head := raw[0]
	switch wide := wideEncoding(head); {
	case wide != "":
		t.encoding = wide
		var before, after int
		for _, block := range raw {
			plain := fromUTF16(block, wide == utf16BE)
			before, after = before+len(block), after+len(plain)
			t.blocks = append(t.blocks, plain)
		}
		t.wide = float64(before) / float64(max(1, after))
		if bytes.HasPrefix(head, []byte("\xff\xfe")) || bytes.HasPrefix(head, []byte("\xfe\xff")) {
			t.encoding = "utf-16"
			t.blocks[0] = bytes.TrimPrefix(t.blocks[0], []byte("\ufeff"))
		}
		return
	case bytes.HasPrefix(head, utf8Mark):
		t.encoding = "utf-8-sig"
		raw[0] = head[len(utf8Mark):]
	}
	good, bad := 0, 0
	for _, block := range raw {
		g, b := beyondASCII(block)
		good, bad = good+g, bad+b
	}
	switch {
	case bad == 0:
	case bad > good && t.encoding == "":
		t.encoding = cp1252
		for i, block := range raw {
			raw[i] = fromCP1252(block)
		}
	default:
		t.encoding = "utf-8 with " + count(int64(bad), "broken byte")
	}
	t.blocks = raw
}

// beyondASCII counts the characters of more than a byte and the bytes that belong
// to none. A block may begin and end within a character.
func beyondASCII(block []byte) (good, bad int) {
	for i := 0; i < len(block); {
		if block[i] < utf8.RuneSelf {
			i++
			continue
		}
		r, n := utf8.DecodeRune(block[i:])
		switch {
		case r != utf8.RuneError || n > 1:
			good++
		case i < utf8.UTFMax-1 && !utf8.RuneStart(block[i]), len(block)-i < utf8.UTFMax && !utf8.FullRune(block[i:]):
		default:
			bad++
		}
		i += n
	}
	return good, bad
}

// wideEncoding recognizes UTF-16 by its mark, or by text of which every second
// byte is zero.
func wideEncoding(head []byte) string {
	switch {
	case bytes.HasPrefix(head, []byte("\xff\xfe")):
		return utf16LE
	case bytes.HasPrefix(head, []byte("\xfe\xff")):
		return utf16BE
	}
	head = head[:min(len(head), 4096)]
	var zeros [2]int
	for i, c := range head {
		if c == 0 {
			zeros[i%2]++
		}
	}
	half := len(head) / 2
	switch {
	case half >= 4 && zeros[1] > half*7/10 && zeros[0]*20 <= half:
		return utf16LE
	case half >= 4 && zeros[0] > half*7/10 && zeros[1]*20 <= half:
		return utf16BE
	}
	return ""
}

func fromUTF16(block []byte, big bool) []byte {
	order := binary.ByteOrder(binary.LittleEndian)
	if big {
		order = binary.BigEndian
	}
	units := make([]uint16, len(block)/2)
	for i := range units {
		units[i] = order.Uint16(block[2*i:])
	}
	plain := make([]byte, 0, len(units))
	for _, r := range utf16.Decode(units) {
		plain = utf8.AppendRune(plain, r)
	}
	return plain
}

func fromCP1252(block []byte) []byte {
	plain := make([]byte, 0, len(block)+len(block)/8)
	for _, c := range block {
		plain = utf8.AppendRune(plain, charmap.Windows1252.DecodeByte(c))
	}
	return plain
}

// isBinary reports whether a text is none.
func isBinary(text []byte) bool { return bytes.IndexByte(text[:min(len(text), 8192)], 0) >= 0 }
