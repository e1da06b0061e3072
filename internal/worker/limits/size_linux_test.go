package limits

import (
	"fmt"
	"testing"
)

// Directories that are nested beyond all sense take no more of the server's descriptors,
// and are more than any limit.
func TestSizeOfDirectoriesWithoutEnd(t *testing.T) {
	over := walk{ctx: t.Context(), rests: mostRests}
	err := over.addRest(t.TempDir())
	expect(t, fmt.Sprint(err) == "skip this directory" && over.size >= absurd, "%v %v", err, over.size)
	for range 1 << 13 {
		_ = over.addRest("")
	}
	expect(t, over.size >= absurd, "many of them are %v", over.size)
}
