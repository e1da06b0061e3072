package egress

import (
	"fmt"
	"sync"
)

// refusal is an error that is the client's to read: one line of ASCII.
type refusal struct {
	host   string // for the log; "" for a request that makes no sense
	status int
	text   string
}

func (r *refusal) Error() string { return r.text }

// refuse is the refusal of a target.
func refuse(t target, why string) *refusal {
	return &refusal{host: t.String(), status: 403, text: fmt.Sprintf("understudy: no connection to %s: %s", t, why)}
}

// nonsense is the refusal of a request that is not one for a proxy.
func nonsense(why string) *refusal {
	return &refusal{status: 400, text: "understudy: " + why}
}

// countedHosts bounds what one session can have the server remember and log.
const countedHosts = 100

// tally counts what was refused to a session.
type tally struct {
	mu    sync.Mutex
	hosts map[string]int
	more  int // refusals of hosts beyond countedHosts
}

// add reports whether it is the host's first refusal, which is logged.
func (t *tally) add(host string) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.hosts[host] == 0 && len(t.hosts) >= countedHosts {
		t.more++
		return t.more == 1
	}
	if t.hosts == nil {
		t.hosts = map[string]int{}
	}
	t.hosts[host]++
	return t.hosts[host] == 1
}

// sum is how many hosts were refused how often. The hosts beyond countedHosts count
// as one.
func (t *tally) sum() (hosts, times int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	hosts, times = len(t.hosts), t.more
	if t.more > 0 {
		hosts++
	}
	for _, n := range t.hosts {
		times += n
	}
	return hosts, times
}
