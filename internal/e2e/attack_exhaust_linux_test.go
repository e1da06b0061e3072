package e2e

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

// limitsToMeet are the flags of a server whose sessions soon have enough. A session
// must be able to hold much more than they say where a limit isn't kept.
var limitsToMeet = []string{
	"--memory-limit", "256MiB", "--process-limit", "64", "--open-file-limit", "256",
	"--file-size-limit", "8MiB", "--disk-limit", "32MiB", "--print-limit", "1MiB",
}

// TestExhaustion has one session use up all that it can, while another client's goes on.
func TestExhaustion(t *testing.T) {
	for _, user := range accounts(t) {
		t.Run(user.name, func(t *testing.T) {
			t.Parallel()
			a := startAttacked(t, user, "understudy", append([]string{"--sandbox", "standard"}, limitsToMeet...)...)
			for _, p := range readPrograms(t, "attack_exhaust") {
				t.Run(p.name, func(t *testing.T) { a.exhaust(t, p) })
			}
		})
	}
}

func (a *attacked) exhaust(t *testing.T, p program) {
	var attack answer
	var err error
	answered, _ := a.meanwhile(t, func() {
		code := "import ctypes, mmap, os, signal, threading, time\n" + p.code
		limit, _ := strconv.ParseFloat(cmp.Or(p.head["timeout"], "3600"), 64)
		attack, err = call(a.attacker, "run_python_code", "code", code, "reset", true, "timeout", limit)
	})
	must(t, err)
	text := fmt.Sprintf("%s\n%v: %v", attack.text, attack.record["exc_type"], attack.record["exc_info"])
	record, said := run(t, a.attacker, "print(6 * 7)", "reset", true)
	expect(t, record["stdout"] == "42\n", "its session does not go on: %s", said)
	ends := strings.Split(p.head["ends"], " | ")
	switch {
	case strings.Contains(text, "OPEN\n"):
		t.Errorf("OPEN: %s Nothing stopped it: %.1000s", p.head["tries"], text)
	case !slices.ContainsFunc(ends, func(words string) bool { return strings.Contains(text, words) }):
		t.Errorf("%s It ended otherwise than by one of %q: …%s", p.head["tries"], ends, text[max(0, len(text)-1500):])
	default:
		t.Logf("%s Stopped; meanwhile another client had %d answers: …%s", p.head["tries"], answered, text[max(0, len(text)-300):])
	}
}

// meanwhile has the victim's session answer again and again while an attack is made. It
// returns how often it did, and the longest time that it took.
func (a *attacked) meanwhile(t *testing.T, attack func()) (answered int, slowest time.Duration) {
	t.Helper()
	over := make(chan struct{})
	go func() { defer close(over); attack() }()
	for {
		began := time.Now()
		record, said := run(t, a.victim, fmt.Sprintf("print(%d + 1)", answered))
		answered++
		expect(t, record["stdout"] == fmt.Sprintf("%d\n", answered), "OPEN: another client's session suffers: %s", said)
		slowest = max(slowest, time.Since(began))
		select {
		case <-over:
			return answered, slowest
		default:
		}
	}
}
