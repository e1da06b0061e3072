package main

import (
	"context"
	"flag"
	"os"
	"runtime"
	"testing"
	"time"

	_ "understudy/internal/command" // or go test would answer from its cache when only the server has changed
)

var seedFlag = flag.Uint64("seed", uint64(time.Now().UnixNano()), "where the random choices of TestSoak begin")

// testLog takes what a soak prints.
type testLog struct{ t *testing.T }

func (l testLog) Write(p []byte) (int, error) {
	l.t.Logf("%s", p)
	return len(p), nil
}

// TestSoakNetwork is the short form of the soak of HTTP and SSE.
func TestSoakNetwork(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("the soak looks for processes and descriptors in Linux's /proc")
	}
	o := options{duration: 15 * time.Second, seed: *seedFlag, start: "zygote", sessions: 9, network: true, python: os.Getenv("UNDERSTUDY_TEST_PYTHON")}
	if err := run(context.Background(), o, testLog{t}); err != nil {
		t.Fatal(err)
	}
}

var killed = flag.Int("kills", 10, "how many servers TestKills kills")

// TestKills has servers killed while code prints in them. What it printed until a second
// before is there, as -kills of the soak sees; a busy machine gets longer.
func TestKills(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("the soak looks for processes and descriptors in Linux's /proc")
	}
	o := options{duration: time.Minute, seed: *seedFlag, start: "zygote", kills: *killed, late: 4 * time.Second, python: os.Getenv("UNDERSTUDY_TEST_PYTHON")}
	if err := run(context.Background(), o, testLog{t}); err != nil {
		t.Fatal(err)
	}
}

// TestSoak is the soak's short form. Its seed is in the output; to repeat it:
//
//	go test ./bench/soak -run TestSoak -seed N
func TestSoak(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("the soak looks for processes and descriptors in Linux's /proc")
	}
	o := options{duration: 30 * time.Second, seed: *seedFlag, start: "zygote", sessions: 12, python: os.Getenv("UNDERSTUDY_TEST_PYTHON")}
	if testing.Short() {
		o.duration /= 2
	}
	if err := run(context.Background(), o, testLog{t}); err != nil {
		t.Fatal(err)
	}
}
