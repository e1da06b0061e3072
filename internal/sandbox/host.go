package sandbox

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"time"
)

// Host is what the machine, or the container, allows.
type Host struct {
	// Landlock is the version of its ABI, 0 where there is none.
	Landlock int `json:"landlock"`
	// User is whom the server runs as.
	User int `json:"user"`
	// The others say why something can't be had, "" if it can.
	NoSeccomp    string `json:"seccomp"`
	NoNamespaces string `json:"namespaces"`
	NoUsers      string `json:"users"`  // one user for each session
	NoProc       string `json:"proc"`   // a /proc of its own
	NoCgroups    string `json:"cgroup"` // groups that the kernel watches
}

// detectTime is how long it may take to find out what there is.
const detectTime = 30 * time.Second

// Detect tries in processes of their own what the host allows. The file is
// pyworker/sandbox/confine.py, which this Python runs: what works there works for workers.
func Detect(ctx context.Context, python string, confine []byte) (Host, error) {
	ctx, cancel := context.WithTimeout(ctx, detectTime)
	defer cancel()
	host, err := detect(ctx, python, confine)
	if err != nil {
		return nothing(err.Error()), err
	}
	return host, nil
}

// nothing is a host that allows nothing.
func nothing(why string) Host {
	return Host{User: os.Geteuid(), NoSeccomp: why, NoNamespaces: why, NoUsers: why, NoProc: why, NoCgroups: why}
}

// probe has Python try each of the profiles and say why it failed.
func probe(ctx context.Context, python string, confine []byte, trials map[string]*Profile) (host Host, err error) {
	request, err := json.Marshal(trials)
	if err != nil {
		return host, err
	}
	cmd := exec.CommandContext(ctx, python, "-I", "-S", "-c", string(confine))
	cmd.Stdin, cmd.Dir = bytes.NewReader(request), "/"
	answer, err := cmd.Output()
	if err != nil {
		var failed *exec.ExitError
		if errors.As(err, &failed) {
			err = fmt.Errorf("%w: %s", err, strings.TrimSpace(string(failed.Stderr)))
		}
		return host, fmt.Errorf("finding out what the sandbox can do here: %w", err)
	}
	if err := json.Unmarshal(answer, &host); err != nil {
		return host, fmt.Errorf("finding out what the sandbox can do here: %w in %.200q", err, answer)
	}
	return host, nil
}
