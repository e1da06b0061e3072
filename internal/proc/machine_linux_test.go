package proc

import (
	"os"
	"path/filepath"
	"testing"
)

func TestMachineMemory(t *testing.T) {
	left, all := MemoryLeft()()
	expect(t, left != 0 && left <= all, "%d of %d", left, all)
}

// What files have in memory gives way, so it counts as left.
func TestMemoryOfAGroup(t *testing.T) {
	for name, test := range map[string]struct {
		limit, usage, stat, files string
		left                      uint64
		ok                        bool
	}{
		"version 2":  {"1000\n", "700\n", "anon 300\ninactive_file 100\nactive_file 50\n", "", 450, true},
		"version 1":  {"1000\n", "700\n", "inactive_file 9\ntotal_inactive_file 100\ntotal_active_file 50\n", "total_", 450, true},
		"no limit":   {"max\n", "700\n", "", "", 0, false},
		"none of 1":  {"9223372036854771712\n", "700\n", "", "total_", 0, false},
		"over it":    {"1000\n", "1100\n", "", "", 0, true},
		"no numbers": {"1000\n", "", "", "", 0, false},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			file := func(name, text string) string {
				path := filepath.Join(dir, name)
				err := os.WriteFile(path, []byte(text), 0o644)
				insist(t, err == nil, "%v", err)
				return path
			}
			g := memoryGroup{file("limit", test.limit), file("usage", test.usage), file("stat", test.stat), test.files}
			if left, _, ok := g.free(); left != test.left || ok != test.ok {
				t.Errorf("%d, %v", left, ok)
			}
		})
	}
}
