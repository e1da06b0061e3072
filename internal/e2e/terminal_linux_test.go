package e2e

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// seatAtTerminal has a command run at a terminal of its own, and returns the end of it
// that a screen and a keyboard would have, and its name.
func seatAtTerminal(t *testing.T, cmd *exec.Cmd) (screen *os.File, name string) {
	t.Helper()
	screen, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	must(t, err)
	t.Cleanup(func() { _ = screen.Close() })
	number, err := unix.IoctlGetInt(int(screen.Fd()), unix.TIOCGPTN)
	must(t, errors.Join(err, unix.IoctlSetPointerInt(int(screen.Fd()), unix.TIOCSPTLCK, 0)))
	name = fmt.Sprint("/dev/pts/", number)
	keyboard, err := os.OpenFile(name, os.O_RDWR|unix.O_NOCTTY, 0)
	must(t, err)
	t.Cleanup(func() { _ = keyboard.Close() })
	if cmd.SysProcAttr == nil {
		cmd.SysProcAttr = &syscall.SysProcAttr{}
	}
	cmd.Stdin, cmd.SysProcAttr.Setsid, cmd.SysProcAttr.Setctty = keyboard, true, true
	return screen, name
}

// TestCodeHasNoTerminal has programs ask at the terminal that a server was started from,
// as ssh and git do for passwords. Job control would stop them, and nobody would see why.
func TestCodeHasNoTerminal(t *testing.T) {
	t.Parallel()
	for _, start := range []string{"zygote", "spawn"} {
		t.Run(start, func(t *testing.T) {
			t.Parallel()
			cmd := command(t, "serve", "--transport", "http", "--addr", "127.0.0.1:0", "--sandbox", "off", "--start", start)
			seatAtTerminal(t, cmd)
			c := ways[0].connect(t, listen(t, cmd))
			record, text := run(t, c, `
import errno, subprocess
try:
    open("/dev/tty")
except OSError as error:
    here = errno.errorcode[error.errno]
asked = subprocess.run(["sh", "-c", "read password </dev/tty"], capture_output=True, text=True).returncode
seen = [here, asked != 0]
`, "result_var_name", "seen", "timeout", 20)
			got := fmt.Sprint(record["result"])
			expect(t, got == "[ENXIO true]", "%v: %s", got, text)
		})
	}
}
