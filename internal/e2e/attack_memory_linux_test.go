package e2e

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"sync"
	"testing"
)

// hog makes the server keep what a session says: by what code may be called, and by frames
// forged on the session's own socket to the server.
type hog struct {
	name, code string
	unfetched  int // how many more calls say it, whose answers nobody fetches
}

// readHogs reads what is tried.
func readHogs(t *testing.T) (hogs []hog) {
	t.Helper()
	before := map[string]string{}
	for _, p := range readPrograms(t, "attack_memory") {
		p.code = before[p.head["after"]] + p.code
		if p.name == "forging" || p.name == "answering" {
			before[p.name] = p.code
			continue
		}
		unfetched, _ := strconv.Atoi(p.head["unfetched"]) // none where there is no such line
		hogs = append(hogs, hog{p.name, p.code, unfetched})
	}
	return hogs
}

// TestServerMemory has one session say too much in each way that there is, and then many at
// once: the server keeps little of it, and another client's session goes on.
func TestServerMemory(t *testing.T) {
	withoutRace(t)
	a := startAttacked(t, accounts(t)[0], "understudy", withoutWall...) // whose the server is makes no difference
	hogs := readHogs(t)
	fresh := a.serverMemory(t)
	for _, h := range hogs {
		t.Run(h.name, func(t *testing.T) {
			a.growsLittle(t, a.serverMemory(t), mostGrown, func() {
				text := a.hogs(t, h)
				t.Logf("…%s", text[max(0, len(text)-200):])
			})
			record, said := run(t, a.victim, "print(6 * 7)")
			expect(t, record["stdout"] == "42\n", "another client's session suffers: %s", said)
		})
	}
	t.Run("many at once", func(t *testing.T) {
		hogs = slices.DeleteFunc(hogs, func(h hog) bool { return !slices.Contains(hogsOfMany, h.name) })
		a.growsLittle(t, fresh, 5*mostGrown, func() { a.manyHog(t, hogs) })
	})
}

// mostGrown is how many bytes the server may grow by.
const mostGrown int64 = 100 << 20

// growsLittle fails the test if an attack has the server hold too much more than it held before.
func (a *attacked) growsLittle(t *testing.T, before, most int64, attack func()) {
	t.Helper()
	attack()
	grown := a.serverMemory(t) - before
	t.Logf("%d MiB more", grown>>20)
	expect(t, grown <= most, "OPEN: the server grew by %d MiB", grown>>20)
}

// hogs has a fresh session of the attacker's make one attack, and returns the last answer.
func (a *attacked) hogs(t *testing.T, h hog) (text string) {
	t.Helper()
	id := create(t, a.attacker)
	py := func(code string, more ...any) {
		_, text = run(t, a.attacker, code, append(more, "interpreter_id", id)...)
	}
	py("pass") // with a short wait it would not come to its plugins
	for n := range h.unfetched {
		py(h.numbered(n+2), "timeout", 60, "wait", 0.001)
		eventually(t, func() error {
			for _, each := range interpreters(t, a.attacker) {
				if each["id"] == id && each["busy_with"] != nil {
					return errors.New("it runs")
				}
			}
			return nil
		})
	}
	py(h.numbered(h.unfetched+2), "timeout", 60)
	a.end(t, id)
	return text
}

// numbered is the code of a session's run, which knows its number.
func (h hog) numbered(run int) string { return fmt.Sprintf("RUN = %d\n%s", run, h.code) }

// manyHog has many sessions say too much at once, while another client's session goes on: what
// the server has room for is bounded for all of them together.
func (a *attacked) manyHog(t *testing.T, hogs []hog) {
	t.Helper()
	var ids []string
	for range *manyHogs {
		ids = append(ids, create(t, a.attacker))
	}
	answered, slowest := a.meanwhile(t, func() {
		var attacking sync.WaitGroup
		for n, id := range ids {
			attacking.Go(func() {
				for k := range 3 {
					h := hogs[(n+k)%len(hogs)]
					_, err := call(a.attacker, "run_python_code", "code", h.numbered(k+1), "timeout", 60, "interpreter_id", id)
					expect(t, err == nil, "%s: %v", h.name, err)
				}
			})
		}
		attacking.Wait()
	})
	t.Logf("%d sessions at once; meanwhile another client had %d answers, the slowest after %s", *manyHogs, answered, slowest)
}

var manyHogs = flag.Int("hogs", 12, "how many sessions of TestServerMemory say too much at once")

// hogsOfMany are those that cost the server most for what they cost the attacker.
var hogsOfMany = []string{"forged titles of the longest", "the largest forged pictures", "a forged answer of many frames",
	"forged pictures", "a forged result", "forged artifacts of the longest", "many names"}

// withoutRace has the server be one that does not look for races, which would keep several
// bytes for each, and take ten times as long.
func withoutRace(t *testing.T) {
	t.Helper()
	if !lookForRaces() {
		return
	}
	dir := t.TempDir()
	must(t, build(dir, false))
	with := binary // no test runs beside this one
	binary = filepath.Join(dir, "understudy")
	t.Cleanup(func() { binary = with })
}

var highWater = regexp.MustCompile(`VmHWM:\s+(\d+) kB`)

// serverMemory returns the most memory, in bytes, that the server has had since the last
// question.
func (a *attacked) serverMemory(t *testing.T) int64 {
	t.Helper()
	pid := strconv.Itoa(a.server.cmd.Process.Pid)
	status := readFile(t, "/proc", pid, "status")
	found := highWater.FindStringSubmatch(status)
	insist(t, found != nil, "no VmHWM in %s", status)
	kilobytes, _ := strconv.ParseInt(found[1], 10, 64)
	must(t, os.WriteFile("/proc/"+pid+"/clear_refs", []byte("5"), 0))
	return kilobytes << 10
}
