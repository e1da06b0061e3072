package worker

import (
	"bufio"
	"log/slog"
	"os"
	"strings"
	"time"
)

// logLines writes what a forker prints (a library's warning at its import, for
// one) to the log, until it has ended: somebody else may hold the pipe open.
func logLines(pipe *os.File, ended <-chan struct{}, log *slog.Logger) {
	defer pipe.Close()
	done := make(chan struct{})
	defer close(done)
	go func() {
		select {
		case <-ended:
			_ = pipe.SetReadDeadline(time.Now()) // what is there is read all the same
		case <-done:
		}
	}()
	lines := bufio.NewReader(pipe)
	for {
		line, err := lines.ReadString('\n')
		if text := strings.TrimSpace(line); text != "" {
			log.Info("python says", "text", text)
		}
		if err != nil {
			return
		}
	}
}
