package proc

import (
	"bytes"
	"fmt"
	"log/slog"
	"os"
	"strconv"
	"sync"
)

// shelterScore is the server's own oom_score_adj, in thousandths of the machine's
// memory: the kernel, when none is left, kills half of all others first.
const shelterScore = -500

// sheltered is what the server's score was, for its children.
var sheltered struct {
	sync.Mutex
	done   bool
	before int
}

// Shelter has the kernel spare this process when memory runs out, as far as it may:
// root only. Workers, and what else is started with them, keep the score that this
// process had before. It holds for the process's life.
func Shelter(log *slog.Logger) {
	sheltered.Lock()
	defer sheltered.Unlock()
	if sheltered.done {
		return
	}
	data, err := os.ReadFile("/proc/self/oom_score_adj")
	if err != nil {
		return
	}
	before, err := strconv.Atoi(string(bytes.TrimSpace(data)))
	if err != nil || before <= shelterScore {
		return
	}
	if err := setScore("self", shelterScore); err != nil {
		log.Debug("the server can't have the kernel spare it when memory runs out", "error", err)
		return
	}
	sheltered.done, sheltered.before = true, before
}

// unshelter gives a new child the score that it would have had.
func unshelter(pid int) {
	sheltered.Lock()
	defer sheltered.Unlock()
	if sheltered.done {
		_ = setScore(strconv.Itoa(pid), sheltered.before) // it may have ended already
	}
}

func setScore(pid string, score int) error {
	return os.WriteFile(fmt.Sprintf("/proc/%s/oom_score_adj", pid), []byte(strconv.Itoa(score)), 0)
}
