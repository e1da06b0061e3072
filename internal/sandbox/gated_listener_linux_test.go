package sandbox

import (
	"io"
	"log/slog"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// dialVariable has a test's child connect to the socket that it names.
const dialVariable = "UNDERSTUDY_TEST_DIAL"

// TestDialForTheTest is what a child does, no test: it connects, says so, and waits for
// the end of its connection, or of its input.
func TestDialForTheTest(t *testing.T) {
	path := os.Getenv(dialVariable)
	if path == "" {
		t.Skip("for a child of another test")
	}
	conn, err := net.Dial("unix", path)
	must(t, err)
	_, _ = os.Stdout.WriteString("!")
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		os.Exit(0)
	}()
	if n, _ := io.Copy(io.Discard, conn); n == 0 {
		_, _ = os.Stdout.WriteString("refused")
	}
	os.Exit(0)
}

// Descendants of the server's get no answer, nor does whom one that has ended may have
// left its connection to; others do.
func TestRefuseSandboxed(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s")
	listener, err := net.Listen("unix", path)
	must(t, err)
	defer listener.Close()
	dial := func() (*exec.Cmd, io.WriteCloser, io.Reader) {
		cmd := exec.Command(os.Args[0], "-test.run=^TestDialForTheTest$")
		cmd.Env = append(os.Environ(), dialVariable+"="+path)
		input, err1 := cmd.StdinPipe()
		output, err2 := cmd.StdoutPipe()
		insist(t, err1 == nil && err2 == nil && cmd.Start() == nil, "%v %v", err1, err2)
		if _, err := io.ReadFull(output, make([]byte, 1)); err != nil {
			t.Fatal(err)
		}
		return cmd, input, output
	}
	ended, input, _ := dial()
	must(t, input.Close())
	must(t, ended.Wait())
	living, input, said := dial()
	defer input.Close()
	own, err := net.Dial("unix", path)
	must(t, err)
	defer own.Close()
	if _, err := own.Write([]byte("own")); err != nil {
		t.Fatal(err)
	}
	must(t, own.(*net.UnixConn).CloseWrite())
	taken, err := RefuseSandboxed(listener, slog.New(slog.DiscardHandler)).Accept()
	must(t, err)
	defer taken.Close()
	if got, err := io.ReadAll(taken); err != nil || string(got) != "own" {
		t.Fatalf("a connection was taken that says %q, %v", got, err)
	}
	if got, err := io.ReadAll(said); err != nil || string(got) != "refused" {
		t.Errorf("a descendant's connection: %q, %v", got, err)
	}
	if err := living.Wait(); err != nil {
		t.Error(err)
	}
}
