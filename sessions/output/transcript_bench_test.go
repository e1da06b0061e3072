package output

import (
	"bytes"
	"testing"
)

// BenchmarkTranscript takes 100 MB as the worker reads it.
func BenchmarkTranscript(b *testing.B) {
	piece := bytes.Repeat(append(bytes.Repeat([]byte("x"), 99), '\n'), 655)
	dir := b.TempDir()
	b.SetBytes(int64(len(piece)) * 1526)
	for b.Loop() {
		t := testTranscript(dir, 1_000_000, 1<<30)
		for range 1526 {
			t.Output(Stdout, piece)
		}
		t.Finish()
		t.Take()
		t.Close()
	}
}
