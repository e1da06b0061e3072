package report

import (
	"flag"
	"testing"

	"go.uber.org/goleak"

	"understudy/internal/check"
)

var must, expect, insist = check.Must, check.Expect, check.Insist

var update = flag.Bool("update", false, "rewrite testdata")

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m)
}
