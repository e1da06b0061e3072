package journal

import (
	"os"
	"testing"

	"go.uber.org/goleak"
)

// TestMain is also the server that tests kill.
func TestMain(m *testing.M) {
	if file := os.Getenv("JOURNAL_TO_WRITE"); file != "" {
		os.Exit(writeUntilKilled(file))
	}
	goleak.VerifyTestMain(m)
}

// must ends a test by an error.
func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
