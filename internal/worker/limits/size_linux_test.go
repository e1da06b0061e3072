package limits

import (
	"fmt"
	"testing"
)

// Directories that are nested beyond all sense take no more of the server's descriptors,
// and are more than any limit.
func TestSizeOfDirectoriesWithoutEnd(t *testing.T) {
	over := walk{ctx: t.Context(), rests: mostRests}
	if err := over.addRest(t.TempDir()); fmt.Sprint(err) != "skip this directory" || over.size < absurd {
		t.Error(err, over.size)
	}
	for range 1 << 13 {
		_ = over.addRest("")
	}
	if over.size < absurd {
		t.Error("many of them are", over.size)
	}
}
