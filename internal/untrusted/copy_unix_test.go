//go:build unix

package untrusted

import (
	"net"
	"os"
	"slices"
	"syscall"
	"testing"
)

func TestCopyDirLeavesOutWhatIsNoFile(t *testing.T) {
	from, to := t.TempDir(), t.TempDir()
	t.Chdir(from) // a socket's path must be short
	write(t, from, "x", "x")
	must(t, syscall.Mkfifo("pipe", 0o600))
	socket, err := net.Listen("unix", "socket")
	must(t, err)
	defer socket.Close()
	left, err := copyPath(t.Context(), to, from)
	expect(t, err == nil && slices.Equal(left, []string{"pipe", "socket"}), "%q %v", left, err)
	if entries, err := os.ReadDir(to); err != nil || len(entries) != 1 {
		t.Errorf("%d copied, %v", len(entries), err)
	}
}
