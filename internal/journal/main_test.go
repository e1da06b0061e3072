package journal

import (
	"os"
	"testing"

	"go.uber.org/goleak"

	"understudy/internal/check"
)

var must, expect, insist = check.Must, check.Expect, check.Insist

// TestMain is also the server that tests kill.
func TestMain(m *testing.M) {
	if file := os.Getenv("JOURNAL_TO_WRITE"); file != "" {
		os.Exit(writeUntilKilled(file))
	}
	goleak.VerifyTestMain(m)
}
