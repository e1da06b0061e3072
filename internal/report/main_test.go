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
