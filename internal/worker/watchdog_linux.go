package worker

import (
	"bufio"
	"context"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"os/signal"
	"syscall"
	"time"
)

// watchdogStop is what the server writes when it ends in order.
const watchdogStop = "stop"

// watchdog is the server's hold on its watchdog process.
type watchdog struct {
	cmd     *exec.Cmd
	control *os.File // writing end; its end of file says that the server is dead
	ended   chan struct{}
}

// startWatchdog starts argv, which must end in WatchdogMain with its standard
// input as control.
func startWatchdog(argv []string, n nonce, log *slog.Logger) (*watchdog, error) {
	in, control, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	defer in.Close()
	cmd := exec.Command(argv[0], argv[1:]...)
	cmd.Stdin = in
	cmd.Dir = "/" // keeps no file system busy
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := startChild(cmd); err != nil {
		control.Close()
		return nil, err
	}
	if _, err := io.WriteString(control, string(n)+"\n"); err != nil {
		log.Warn("the watchdog does not listen", "error", err)
	}
	w := &watchdog{cmd: cmd, control: control, ended: make(chan struct{})}
	go func() {
		_ = waitChild(cmd)
		close(w.ended)
	}()
	return w, nil
}

// alive reports whether the watchdog still watches.
func (w *watchdog) alive() bool {
	select {
	case <-w.ended:
		return false
	default:
		return true
	}
}

// close lets the watchdog go and waits for it.
func (w *watchdog) close() {
	_, _ = io.WriteString(w.control, watchdogStop+"\n")
	_ = w.control.Close()
	select {
	case <-w.ended:
	case <-time.After(termGrace):
		_ = w.cmd.Process.Kill() // somebody has stopped it
		<-w.ended
	}
}

// WatchdogMain is the whole life of the watchdog process: it waits until the
// server has died or lets it go, and in the first case ends whatever the
// server's workers have left running. It returns the exit code. The server
// writes to control, and never closes it alive without a word.
func WatchdogMain(ctx context.Context, control io.Reader, log *slog.Logger) int {
	// A terminal's signals are meant for the server; its death tells us.
	signal.Ignore(syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP)
	lines := bufio.NewScanner(control)
	if !lines.Scan() || len(lines.Text()) < 10 {
		log.Error("the watchdog was started without a server")
		return 2
	}
	server := nonce(lines.Text())
	released := make(chan bool, 1)
	go func() { released <- lines.Scan() && lines.Text() == watchdogStop }()
	select {
	case <-ctx.Done():
		return 1
	case ok := <-released:
		if !ok {
			endAll(server, log)
		}
		return 0
	}
}

// endAll ends all kin of all workers of a server that is dead.
func endAll(server nonce, log *slog.Logger) {
	known := map[procID]bool{}
	find := func() ([]procID, error) {
		procs, err := listProcs()
		if err != nil {
			return nil, err
		}
		family := newFamily(procs, func(p proc) bool { return known[p.procID] })
		family.addMarked(procs, func(pid int) bool {
			tag, ok := tagOf(pid)
			return ok && tag>>tagBits == server.prefix() ||
				environHas(pid, markVariable+"="+string(server)+"/", false)
		})
		var living []procID
		for _, p := range procs {
			if family[p.pid] && !p.dead && p.pid != os.Getpid() {
				known[p.procID] = true
				living = append(living, p.procID)
			}
		}
		return living, nil
	}
	hunt := hunt{find: find, log: log}
	hunt.run()
	if len(known) > 0 {
		log.Info("the server is dead; its workers' processes were ended", "count", len(known))
	}
}
