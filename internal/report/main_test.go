package report

import (
	"flag"
	"testing"

	"go.uber.org/goleak"
)

var update = flag.Bool("update", false, "rewrite testdata")

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m)
}

// must ends a test by an error.
func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
