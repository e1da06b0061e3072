package transport

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"understudy/internal/proc"
)

// TestOrigins: a program is one place in every era and under every name, and one behind
// a proxy is where the proxy is.
func TestOrigins(t *testing.T) {
	where := post(calling(1, "where", ""))
	for network, h := range houses(t) {
		process := strings.TrimSuffix(own(t), " ")
		for name, q := range map[string]request{
			"modern": inModern(t, where), "another name": named(t, where, "x"), "no session": where,
			"a session": where.with(mcpSession, h.session(t)), "another": where.with(mcpSession, h.session(t)),
		} {
			got := h.whoIs(t, q)
			expect(t, got == process, "%s, %s: %s, not %s", network, name, got, process)
			if got := h.whoIs(t, q.with("X-Forwarded-For", "203.0.113.7")); !strings.HasPrefix(got, "address:") {
				t.Errorf("%s, %s through a proxy: %s", network, name, got)
			}
		}
		stream, messages := h.stream(t.Context(), t)
		h.send(t, messages.saying(where.body))
		got := textOf(t, stream.next())
		expect(t, got == process, "%s, SSE: %s", network, got)
	}
}

// TestWhatHasEnded: a process that has is told from one that can't be looked at.
func TestWhatHasEnded(t *testing.T) {
	c := startClient(t, &watchedHouse{house: &house{addr: "nowhere"}})
	p, ok := proc.Read(c.pid)
	insist(t, ok, "the client is not found")
	origin := processPrefix + p.ID.String()
	expect(t, !HasEnded(origin), "it lives")
	var limit unix.Rlimit
	must(t, unix.Getrlimit(unix.RLIMIT_NOFILE, &limit))
	must(t, unix.Setrlimit(unix.RLIMIT_NOFILE, &unix.Rlimit{Cur: 0, Max: limit.Max}))
	_, found := proc.Read(p.PID)
	ended := HasEnded(origin)
	must(t, unix.Setrlimit(unix.RLIMIT_NOFILE, &limit))
	expect(t, !found && !ended, "no file can be opened: found %t, ended %t", found, ended)
	_ = c.in.Close()
	eventually(t, "its end", func() bool { return HasEnded(origin) }) // nobody has waited for it
	c.end(t)
	for origin, want := range map[string]bool{
		origin:                                   true,
		fmt.Sprintf("process:%d.1", os.Getpid()): true, // an earlier process of that number
		"user:0":                                 false,
		"address:192.0.2.1":                      false,
		"process:x":                              false,
	} {
		expect(t, HasEnded(origin) == want, "%s: %t", origin, !want)
	}
}
