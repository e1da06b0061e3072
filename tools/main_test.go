package tools

import (
	"flag"
	"testing"

	"go.uber.org/goleak"
)

// update rewrites the committed schemas and the golden texts.
var update = flag.Bool("update", false, "rewrite schemas/*.json and testdata")

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }
