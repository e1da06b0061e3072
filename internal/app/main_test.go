package app

import (
	"context"
	"log/slog"
	"os"
	"testing"

	"go.uber.org/goleak"

	"understudy/internal/worker"
)

// TestMain is also the watchdog: the program that a spawner starts as its
// watchdog is the running one, which here is the test binary.
func TestMain(m *testing.M) {
	if len(os.Args) == 2 && os.Args[1] == "watchdog" {
		os.Exit(worker.WatchdogMain(context.Background(), os.Stdin, slog.New(slog.DiscardHandler)))
	}
	goleak.VerifyTestMain(m)
}
