package tools

import (
	"flag"
	"testing"

	"go.uber.org/goleak"
)

// update rewrites the committed schemas.
var update = flag.Bool("update", false, "rewrite schemas/*.json")

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }
