package sessions

import "testing"

func TestSizeInWords(t *testing.T) {
	for bytes, want := range map[int64]string{
		0: "0 bytes", 999: "999 bytes", 4096: "4 KiB", 10e6: "10 MB", 10e9: "10 GB", 1 << 30: "1.0 GiB",
		1288490188: "1.2 GiB", 512 << 20: "512 MiB", 1500e6: "1500 MB", -1: "0 bytes",
	} {
		if got := SizeInWords(bytes); got != want {
			t.Errorf("%d is %q, not %q", bytes, got, want)
		}
	}
}
