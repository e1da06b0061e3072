package upstream

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"time"

	"understudy/internal/proc"
)

const (
	endTime   = 2 * time.Second // for a process to end when its input does
	writeTime = 30 * time.Second
)

// process is a server that was started here.
type process struct {
	cmd    *exec.Cmd
	stdin  *patientWriter
	stdout io.ReadCloser
	ended  chan struct{}
}

// inherited are the variables that a server gets of ours, as from other clients: where
// things are, and no secrets.
var inherited = strings.Fields(`PATH HOME USER LOGNAME SHELL TERM LANG LC_ALL TMPDIR TZ SSL_CERT_FILE SSL_CERT_DIR
	XDG_CACHE_HOME XDG_CONFIG_HOME XDG_DATA_HOME HTTP_PROXY HTTPS_PROXY NO_PROXY http_proxy https_proxy no_proxy
	APPDATA LOCALAPPDATA HOMEDRIVE HOMEPATH PATHEXT PROCESSOR_ARCHITECTURE PROGRAMFILES SYSTEMDRIVE SYSTEMROOT TEMP TMP USERNAME USERPROFILE`)

// start starts the server's command. Its end is told to c.
func (s *server) start(c *connection) (*process, error) {
	cmd := exec.Command(s.command, s.args...)
	cmd.Dir = s.dir
	if cmd.Dir == "" {
		cmd.Dir = s.options.Workdir
	}
	cmd.Env = []string{}
	for _, name := range inherited {
		if value, ok := os.LookupEnv(name); ok {
			cmd.Env = append(cmd.Env, name+"="+value)
		}
	}
	for name, value := range s.env {
		cmd.Env = append(cmd.Env, name+"="+value)
	}
	groupOfItsOwn(cmd)
	stdin, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	p := &process{cmd: cmd, stdin: &patientWriter{WriteCloser: stdin}, ended: make(chan struct{})}
	if p.stdout, err = cmd.StdoutPipe(); err != nil {
		return nil, err
	}
	stderr, err := cmd.StderrPipe()
	if err != nil {
		return nil, err
	}
	if err := proc.StartChild(cmd); err != nil {
		return nil, fmt.Errorf("its command can't be started: %w", err)
	}
	words := make(chan string, 1)
	go func() { words <- s.logLines(stderr) }()
	go func() {
		last := <-words // Wait may only come after the pipes were read
		err := proc.WaitChild(cmd)
		close(p.ended)
		why := fmt.Errorf("its process has ended (%s)", cmd.ProcessState)
		if err != nil && last != "" {
			why = fmt.Errorf("%w, and its last words were: %s", why, clip(s.mask.Replace(last), 300))
		}
		c.fail(why)
	}()
	return p, nil
}

// logLines passes on what the server says for its operator, and returns the last line.
func (s *server) logLines(stderr io.Reader) (last string) {
	lines := bufio.NewReaderSize(stderr, 4<<10)
	for {
		line, isPart, err := lines.ReadLine()
		if err != nil {
			return last
		}
		if text := strings.TrimSpace(string(line)); text != "" {
			last = text
			if !isPart {
				s.log.Debug("another MCP server says", "line", clip(s.mask.Replace(text), 500))
			}
		}
	}
}

// end ends the process, and what it has started: by the end of its input, then by force.
func (p *process) end() {
	_ = p.stdin.Close()
	select {
	case <-p.ended:
	case <-time.After(endTime):
	}
	killGroup(p.cmd)
	_ = p.stdout.Close()
	<-p.ended
}

// patientWriter gives up on a server that does not read.
type patientWriter struct{ io.WriteCloser }

func (w *patientWriter) Write(p []byte) (int, error) {
	if timed, ok := w.WriteCloser.(interface{ SetWriteDeadline(time.Time) error }); ok {
		_ = timed.SetWriteDeadline(time.Now().Add(writeTime))
	}
	return w.WriteCloser.Write(p)
}
