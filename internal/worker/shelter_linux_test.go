package worker

import (
	"log/slog"
	"os"
	"strconv"
	"strings"
	"testing"

	"understudy/internal/worker/proc"
)

// The server's children have the score that it had, whatever it has given itself.
func TestShelterIsTheServersOwn(t *testing.T) {
	score := func(pid string) int {
		data, err := os.ReadFile("/proc/" + pid + "/oom_score_adj")
		if err != nil {
			t.Fatal(err)
		}
		n, _ := strconv.Atoi(strings.TrimSpace(string(data)))
		return n
	}
	before := score("self")
	proc.Shelter(slog.New(slog.DiscardHandler))
	t.Cleanup(func() { _ = os.WriteFile("/proc/self/oom_score_adj", []byte(strconv.Itoa(before)), 0) })
	if now := score("self"); now != before && now != -500 {
		t.Errorf("%d", now)
	}
	s := fakeSpawner(t)
	if got := score(strconv.Itoa(start(t, s).process.pid)); got != before {
		t.Errorf("the worker has %d, the server had %d", got, before)
	}
}
