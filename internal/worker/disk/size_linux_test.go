package disk

import (
	"fmt"
	"testing"
)

// Directories that are nested beyond all sense take no more of the server's descriptors,
// and are more than enough.
func TestSizeOfDirectoriesWithoutEnd(t *testing.T) {
	over := walk{ctx: t.Context(), enough: 1000, rests: mostRests}
	if err := over.addRest(t.TempDir()); err != errEnough || over.size <= over.enough {
		t.Error(err, over.size)
	}
	over = walk{ctx: t.Context(), enough: -1, rests: mostRests}
	if err := over.addRest(t.TempDir()); fmt.Sprint(err) != "skip this directory" {
		t.Error(err)
	}
}
