package worker

import (
	"io"
	"os"
	"os/exec"
	"path"
	"strings"
	"sync"
	"time"

	"understudy/internal/proc"
	"understudy/pyworker"
)

// Helper is a Python that does a job of the server's own, apart from all
// sessions: it runs one file of the library on what it reads from its standard
// input, answers on its standard output, and never runs code of a user's. It ends
// with the server.
type Helper struct {
	cmd   *exec.Cmd
	in    io.WriteCloser
	out   io.Reader
	words lastWords
	ended chan struct{}
	fed   chan struct{} // closed when it has got the library, or never will
}

// HelperMemory is how many bytes of address space a helper may have (Linux).
const HelperMemory = 1 << 30

// Helper starts a Python that runs a file of the package pyworker. Python is
// isolated: neither the environment nor the working directory of the server says
// what it imports. The package comes from the server's memory: the files of it are
// there for workers, and code in sessions may have changed them.
func (s *Spawner) Helper(file string) (*Helper, error) {
	if _, err := s.begin(); err != nil {
		return nil, err
	}
	defer s.starting.Done()
	texts, err := s.library.Texts(helperPackage)
	if err != nil {
		return nil, err
	}
	cmd := exec.Command(s.options.Python, "-I", "-S", "-B", "-X", "utf8", "-c", pyworker.FromMemory, path.Join(helperPackage, file))
	cmd.Env = bareEnvironment()
	cmd.SysProcAttr = processAttributes()
	h := &Helper{cmd: cmd, ended: make(chan struct{}), fed: make(chan struct{})}
	cmd.Stderr = &h.words
	if h.in, err = cmd.StdinPipe(); err != nil {
		return nil, err
	}
	if h.out, err = cmd.StdoutPipe(); err != nil {
		return nil, err
	}
	if err := s.launcher.run(func() error { return proc.StartChild(cmd) }); err != nil {
		return nil, err
	}
	if err := limitMemory(cmd.Process.Pid, HelperMemory); err != nil {
		s.log.Debug("the memory of a helper is not limited", "error", err)
	}
	go func() {
		_ = proc.WaitChild(cmd)
		close(h.ended)
	}()
	go func() {
		_, _ = h.in.Write(texts) // an error is that of whoever writes next
		close(h.fed)
	}()
	return h, nil
}

// helperPackage is the package that a helper's file is of.
const helperPackage = "pyworker"

// neededVariables are those without which Python might not start: where libraries
// and the system are. Nothing else of the server's environment is a helper's
// business, secrets least of all.
var neededVariables = []string{"PATH", "LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH", "SYSTEMROOT"}

func bareEnvironment() []string {
	env := []string{} // nil would be all of the server's
	for _, name := range neededVariables {
		if value, ok := os.LookupEnv(name); ok {
			env = append(env, name+"="+value)
		}
	}
	return env
}

// Read reads what the helper says.
func (h *Helper) Read(p []byte) (int, error) { return h.out.Read(p) }

// Write tells it something.
func (h *Helper) Write(p []byte) (int, error) {
	<-h.fed
	return h.in.Write(p)
}

// Ended is closed when its process has ended.
func (h *Helper) Ended() <-chan struct{} { return h.ended }

// LastWords is the end of what it wrote to standard error.
func (h *Helper) LastWords() string { return h.words.String() }

// Kill ends it at once and waits for that.
func (h *Helper) Kill() {
	_ = h.cmd.Process.Kill() // an error says that it has ended already
	<-h.ended
}

// Close ends its input, which is its sign to end, and sees that it does.
func (h *Helper) Close() error {
	_ = h.in.Close()
	select {
	case <-h.ended:
	case <-time.After(stopGrace):
		h.Kill()
	}
	return nil
}

// lastWords keeps the end of what is written to it.
type lastWords struct {
	mu   sync.Mutex
	text []byte
}

const mostLastWords = 2000 // bytes

func (l *lastWords) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.text = append(l.text, p...)
	if more := len(l.text) - mostLastWords; more > 0 {
		l.text = append(l.text[:0], l.text[more:]...)
	}
	return len(p), nil
}

func (l *lastWords) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return strings.TrimSpace(strings.ToValidUTF8(string(l.text), "?"))
}
