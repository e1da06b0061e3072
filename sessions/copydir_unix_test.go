//go:build unix

package sessions

import (
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
)

func TestCopyDirLeavesOutWhatIsNoFile(t *testing.T) {
	from, to := t.TempDir(), t.TempDir()
	t.Chdir(from) // a socket's path must be short
	write(t, from, "x", "x")
	if err := syscall.Mkfifo("pipe", 0o600); err != nil {
		t.Fatal(err)
	}
	socket, err := net.Listen("unix", "socket")
	if err != nil {
		t.Fatal(err)
	}
	defer socket.Close()
	left, err := copyPath(t.Context(), to, from)
	if err != nil || !slices.Equal(left, []string{"pipe", "socket"}) {
		t.Errorf("%q %v", left, err)
	}
	if entries, err := os.ReadDir(to); err != nil || len(entries) != 1 {
		t.Errorf("%d copied, %v", len(entries), err)
	}
}

func TestABranchNamesWhatDidNotComeAlong(t *testing.T) {
	m := surviving(t, remembers(), nil)
	run(t, m, "a")
	if err := syscall.Mkfifo(filepath.Join(list(t, m)[0].Workdir, "pipe"), 0o600); err != nil {
		t.Fatal(err)
	}
	child := branch(t, m, "")
	if got := strings.Join(child.Notes, "\n"); !strings.Contains(got, "1 special file of the working directory can't be copied and did not come along: pipe") {
		t.Error(got)
	}
}

func TestABranchWithAFileThatCanNotBeRead(t *testing.T) {
	if os.Getuid() == 0 {
		t.Skip("root may read every file")
	}
	m := surviving(t, remembers(), nil)
	run(t, m, "a")
	dir := list(t, m)[0].Workdir
	write(t, dir, "secret", "x")
	if err := os.Chmod(filepath.Join(dir, "secret"), 0); err != nil {
		t.Fatal(err)
	}
	_, err := m.Branch(t.Context(), me, "")
	wantCode(t, err, CodeStart, "secret", "permission denied")
	if n := len(list(t, m)); n != 1 {
		t.Errorf("%d sessions", n)
	}
}
