package e2e

import (
	"errors"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/mark3labs/mcp-go/client"
)

// withCards runs a program with a /dev of its own, in which there are nodes as a
// machine with two cards has them. They give zeros, as /dev/zero.
const withCards = `set -e
dev=$1; shift
mount -t tmpfs -o mode=755 tmpfs "$dev"
cp -a /dev/null /dev/zero /dev/full /dev/random /dev/urandom /dev/tty /dev/ptmx "$dev"
mkdir "$dev/shm" "$dev/pts" "$dev/nvidia-caps"
mount --rbind /dev/shm "$dev/shm"
mount --rbind /dev/pts "$dev/pts"
for node in ctl -uvm -uvm-tools -modeset 0 1 -caps/nvidia-cap1 -caps/nvidia-cap12; do
	mknod -m 666 "$dev/nvidia$node" c 1 5
done
mount --rbind "$dev" /dev
exec "$@"`

// triesCards says what a session gets of what CUDA asks for as it starts.
const triesCards = `
import ctypes, errno, os, subprocess, sys, threading

def to(do):
    try:
        do()
        return "yes"
    except OSError as error:
        return errno.errorcode[error.errno]

nodes = "ctl -uvm -uvm-tools 0 1 -caps/nvidia-cap12 -caps/nvidia-cap1 -modeset".split()
print("nodes", *[to(lambda: os.close(os.open("/dev/nvidia" + node, os.O_RDWR))) for node in nodes])
print("memfd", to(lambda: os.close(os.memfd_create("any"))))
names = "import os; open(f'/proc/self/task/{os.getpid()}/comm', 'w').write('cuda-any')"
print("names", subprocess.run([sys.executable, "-c", names], stderr=subprocess.DEVNULL).returncode == 0)
libc = ctypes.CDLL(None)
libc.mmap.restype = ctypes.c_void_p
place = libc.mmap(None, ctypes.c_size_t(1 << 40), 0, 0x4022, -1, ctypes.c_long(0))
print("a terabyte of addresses", place != ctypes.c_void_p(-1).value)
`

// startWithCards starts a server, as that user, on a machine with cards.
func startWithCards(t *testing.T, user account, program string, flags ...string) *client.Client {
	t.Helper()
	dir, err := os.MkdirTemp("", "cards-")
	must(t, err)
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	for _, name := range []string{"", "/dev", "/data", "/work"} {
		must(t, os.MkdirAll(dir+name, 0o755))
		must(t, os.Chown(dir+name, user.uid, user.uid))
	}
	// Who the code runs as is neither of the two.
	must(t, errors.Join(os.Chmod(dir, 0o755), os.Chmod(dir+"/work", 0o777|os.ModeSticky)))
	must(t, copyPrograms(dir))
	arguments := []string{"--mount", "sh", "-c", withCards, "sh", dir + "/dev"}
	if user.uid != 0 {
		arguments = append(arguments, "setpriv", "--reuid=65534", "--regid=65534", "--clear-groups")
	}
	arguments = append(arguments, dir+"/"+program, "serve", "--python", user.python, "--data-dir", dir+"/data", "--workdir", dir+"/work", "--log-level", "error")
	cmd := exec.Command("unshare", append(arguments, flags...)...)
	cmd.Dir, cmd.Env, cmd.Stderr = dir, append(os.Environ(), "HOME="+dir), os.Stderr
	return spawn(t, cmd)
}

// Who is given cards gets what CUDA asks for, of those cards alone; who isn't gets
// nothing. The driver is not here: what it makes of that is not tried.
func TestCards(t *testing.T) {
	if err := exec.Command("unshare", "--mount", "true").Run(); err != nil {
		t.Skipf("made-up cards need root, and mounts: %v", err)
	}
	const no = "EACCES"
	for name, test := range map[string]struct {
		program string
		flags   []string
		nodes   string
		given   bool
	}{
		"standard, none":  {"understudy", []string{"--sandbox", "standard"}, strings.Repeat(" "+no, 8), false},
		"strict, none":    {"understudy", []string{"--sandbox", "strict", "--gpu", "none"}, strings.Repeat(" "+no, 8), false},
		"contained, none": {"contained", []string{"--sandbox", "standard"}, strings.Repeat(" "+no, 8), false},
		"standard, one":   {"understudy", []string{"--sandbox", "standard", "--gpu", "1"}, " yes yes yes EACCES yes EACCES EACCES EACCES", true},
		"strict, all":     {"understudy", []string{"--sandbox", "strict", "--gpu", "all"}, " yes yes yes yes yes yes EACCES EACCES", true},
		"contained, all":  {"contained", []string{"--sandbox", "standard", "--gpu", "all"}, " yes yes yes yes yes yes EACCES EACCES", true},
	} {
		users := accounts(t)
		for _, user := range users {
			if test.program == "contained" { // which can't bring in what others may not reach
				user.python = users[len(users)-1].python
			}
			t.Run(name+"/"+user.name, func(t *testing.T) {
				t.Parallel()
				c := startWithCards(t, user, test.program, test.flags...)
				record, _ := run(t, c, triesCards)
				memfd, names := "EPERM", "False"
				if test.given {
					memfd = "yes"
				}
				if test.given || user.uid == 0 {
					names = "True"
				}
				want := "nodes" + test.nodes + "\nmemfd " + memfd + "\nnames " + names + "\na terabyte of addresses True\n"
				diff := cmp.Diff(want, record["stdout"])
				expect(t, diff == "", "%v", diff)
				if test.given {
					holdsCard(t, c)
				}
			})
		}
	}
}

// A doctor says which of them a session may open.
func TestDoctorSeesCards(t *testing.T) {
	if err := exec.Command("unshare", "--mount", "true").Run(); err != nil {
		t.Skipf("made-up cards need root, and mounts: %v", err)
	}
	for asked, want := range map[string]string{
		"1": "may open /dev/nvidiactl, /dev/nvidia-uvm, /dev/nvidia1, /dev/nvidia-uvm-tools\n",
		"3": "would not serve: gpu: there is no card 3 (/dev/nvidia3); name some of 0, 1, or all\n",
		"":  "may open none of /dev/nvidia-modeset, /dev/nvidia-uvm,",
	} {
		t.Run(asked, func(t *testing.T) {
			t.Parallel()
			cmd := exec.Command("unshare", "--mount", "sh", "-c", withCards, "sh", t.TempDir(), binary, "doctor", "--data-dir", t.TempDir())
			cmd.Env = append(os.Environ(), "UNDERSTUDY_SANDBOX=standard", "UNDERSTUDY_GPU="+asked, "UNDERSTUDY_PYTHON="+accounts(t)[0].python)
			out, err := cmd.CombinedOutput() // which fails where there is no such card
			expect(t, strings.Contains(string(out), want), "%v\n%s", err, out)
		})
	}
}

// holdsCard has a session use a card: it says from then on that it can't be brought
// back, and isn't copied.
func holdsCard(t *testing.T, c *client.Client) {
	t.Helper()
	const use = "import mmap, os; card = os.open('/dev/nvidiactl', os.O_RDWR); print(mmap.mmap(card, 4096)[0])"
	record, text := run(t, c, use)
	if record["stdout"] != "0\n" || record["recoverable"] != false || !strings.Contains(text, "has begun to use a GPU (CUDA)") {
		t.Errorf("with a card in use: %v", record)
	}
	refused(t, c, "which a copy of it could not; use operation", "manage_interpreters", "operation", "branch")
	record, _ = run(t, c, "os.close(card)")
	expect(t, record["recoverable"] == true, "with no card in use: %v", record)
}
