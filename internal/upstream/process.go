package upstream

import (
	"bufio"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"sync"
	"time"

	"golang.org/x/time/rate"

	"understudy/internal/proc"
)

// A process is a stdio server, with all that it has started.
type process struct {
	name    string
	secrets *secrets
	log     *slog.Logger
	cmd     *exec.Cmd
	kin     *proc.Kin
	in, out *os.File
	errs    *os.File
	ended   chan struct{} // closed when it and all that it started have ended
	heard   chan struct{} // closed when its standard error has been read to the end

	mu   sync.Mutex
	last string // of its standard error

	killing sync.Mutex
	reaped  bool // its id may be another's
}

// marks tell the processes of one server of ours from all others.
var (
	nonce    = proc.NewNonce()
	registry = proc.NewRegistry()
	number   = struct {
		sync.Mutex
		next uint64
	}{}
)

// passed are the variables of our environment that a server gets: what programs need to
// run at all. Others may be secrets, and the file's env names what it is to have.
var passed = []string{
	"PATH", "HOME", "LOGNAME", "USER", "SHELL", "TERM", "LANG", "LC_ALL", "LC_CTYPE", "TZ", "TMPDIR",
	"SSL_CERT_FILE", "SSL_CERT_DIR", "XDG_CACHE_HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME",
	"APPDATA", "HOMEDRIVE", "HOMEPATH", "LOCALAPPDATA", "PROCESSOR_ARCHITECTURE", "SYSTEMDRIVE",
	"SYSTEMROOT", "TEMP", "TMP", "USERNAME", "USERPROFILE", "PATHEXT", "PROGRAMFILES",
}

func environment(e entry, mark proc.Mark) []string {
	env := []string{proc.Variable + "=" + mark.Value}
	for _, name := range passed {
		if value, set := os.LookupEnv(name); set {
			env = append(env, name+"="+value)
		}
	}
	for _, name := range sortedKeys(e.env) {
		env = append(env, name+"="+e.env[name])
	}
	return env
}

// startProcess starts the command of an entry.
func startProcess(e entry, workdir string, log *slog.Logger) (*process, error) {
	if _, ownPath := e.env["PATH"]; !ownPath && !strings.ContainsAny(e.command, `/\`) {
		if _, err := exec.LookPath(e.command); err != nil {
			return nil, fmt.Errorf("the command %s is not found in PATH; install it, or give its full path", clip(e.command, 100))
		}
	}
	number.Lock()
	number.next++
	mark := nonce.Mark("mcp", number.next)
	number.Unlock()
	p := &process{name: e.name, secrets: e.secrets, log: log, cmd: command(e), ended: make(chan struct{}), heard: make(chan struct{})}
	p.cmd.Env = environment(e, mark)
	if p.cmd.Dir = e.cwd; e.cwd == "" {
		p.cmd.Dir = workdir
	}
	if err := p.pipes(); err != nil {
		return nil, err
	}
	started := make(chan error)
	go p.own(started, mark)
	if err := <-started; err != nil {
		_, _, _ = p.in.Close(), p.out.Close(), p.errs.Close()
		return nil, fmt.Errorf("it does not start: %s", e.secrets.tell(err.Error(), 600))
	}
	go p.listen()
	return p, nil
}

// pipes makes those of the command and keeps our ends; its own are closed once it runs.
func (p *process) pipes() (err error) {
	var made [6]*os.File
	for i := 0; i < len(made); i += 2 {
		if made[i], made[i+1], err = os.Pipe(); err != nil {
			for _, file := range made[:i] {
				_ = file.Close()
			}
			return err
		}
	}
	p.cmd.Stdin, p.in, p.out, p.cmd.Stdout, p.errs, p.cmd.Stderr = made[0], made[1], made[2], made[3], made[4], made[5]
	return nil
}

// own starts the command, waits for its end and ends all that it started. It keeps its
// thread: the kernel takes the thread that starts a process for its parent, with which
// it is to die.
func (p *process) own(started chan<- error, mark proc.Mark) {
	runtime.LockOSThread()
	err := proc.StartChild(p.cmd)
	for _, file := range []any{p.cmd.Stdin, p.cmd.Stdout, p.cmd.Stderr} {
		_ = file.(*os.File).Close()
	}
	if err != nil {
		started <- err
		return
	}
	p.kin = proc.NewKin(p.cmd.Process.Pid, mark, registry, p.log)
	started <- nil
	p.reap()
	p.kin.Close()
	close(p.ended)
}

// stopGrace is how long a server has to end after its input was closed.
const stopGrace = 2 * time.Second

// close ends it: by the end of its input, as the protocol has it, then by force.
func (p *process) close() {
	_ = p.in.Close()
	select {
	case <-p.ended:
	case <-time.After(stopGrace):
		p.kill()
		<-p.ended
	}
	// Nobody should be left who writes to them, but who left its kin may be.
	_, _ = p.out.Close(), p.errs.Close()
	<-p.heard
}

// kill ends it and all that it started.
func (p *process) kill() {
	p.killing.Lock()
	defer p.killing.Unlock()
	if !p.reaped {
		p.kin.End()
	}
}

// kinEnded ends what is left when the process is dead, and has its id let go.
func (p *process) kinEnded() {
	p.kill()
	p.killing.Lock()
	defer p.killing.Unlock()
	p.reaped = true
}

// awaitEnd gives a process that has closed its output the time to end.
func (p *process) awaitEnd() {
	late := time.After(stopGrace)
	for _, over := range []chan struct{}{p.ended, p.heard} {
		select {
		case <-over:
		case <-late:
			return
		}
	}
}

// listen logs what it writes to standard error, at a rate that no flood can exceed.
func (p *process) listen() {
	defer close(p.heard)
	lines := bufio.NewReaderSize(p.errs, 4<<10)
	limit := rate.NewLimiter(20, 200)
	for {
		part, err := lines.ReadSlice('\n')
		if text := strings.TrimSpace(string(part)); text != "" {
			p.mu.Lock()
			p.last = text
			p.mu.Unlock()
			if limit.Allow() {
				p.log.Debug("an MCP server wrote to standard error", "server", p.name, "text", p.secrets.tell(text, 1000))
			}
		}
		if err != nil && !errors.Is(err, bufio.ErrBufferFull) {
			return
		}
	}
}

// lastWords is an error of what is known of its end.
func (p *process) lastWords(what string) error {
	select {
	case <-p.ended:
		if state := p.cmd.ProcessState; state != nil {
			what += " (" + state.String() + ")"
		}
	default:
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.last != "" {
		what += "; the last that it wrote to standard error: " + p.secrets.tell(p.last, 300)
	}
	return errors.New(what)
}
