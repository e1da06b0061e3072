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

// assert says how it is if it is not so.
func assert(t testing.TB, so bool, format string, args ...any) {
	t.Helper()
	if !so {
		t.Errorf(format, args...)
	}
}

// insist says so too, and ends the test.
func insist(t testing.TB, so bool, format string, args ...any) {
	t.Helper()
	if !so {
		t.Fatalf(format, args...)
	}
}
