package report

import (
	"context"
	"html"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"understudy/internal/journal"
	"understudy/sessions"
)

// browse returns the DOM that headless Chromium makes of a page.
func browse(t *testing.T, page []byte) string {
	t.Helper()
	chromium, err := exec.LookPath("chromium")
	if err != nil {
		t.Skip("needs chromium")
	}
	file := filepath.Join(t.TempDir(), "page.html")
	must(t, os.WriteFile(file, page, 0o600))
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	dom, err := exec.CommandContext(ctx, chromium, "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
		"--user-data-dir="+t.TempDir(), "--virtual-time-budget=10000", "--dump-dom", "file://"+file).Output()
	must(t, err)
	return html.UnescapeString(string(dom))
}

func TestThePageHoldsNothingThatCouldRun(t *testing.T) {
	page, err := treePage(newSample(t).load(t))
	must(t, err)
	text := string(page)
	if strings.Count(text, "</script>") != 2 || strings.Count(text, "<script") != 2 || strings.Contains(text, "<img src=x") || strings.Contains(text, "<!-- ]]>") {
		t.Error("code of a trial stands in the page as it is")
	}
	for _, outside := range []string{"https://", "src=\"http", "@import", "url("} {
		expect(t, !strings.Contains(text, outside), "the page needs %s", outside)
	}
	expect(t, !strings.Contains(text, "{{") && strings.Contains(text, "default-src 'none'"), "the page is not filled in")
}

func TestThePageOfAThousandTrials(t *testing.T) {
	page, err := treePage(large(1000).load(t))
	must(t, err)
	dom := browse(t, page)
	expect(t, strings.Count(dom, ` id="node-`) == 1000, "the page did not draw: %d bytes of DOM", len(dom))
}

// large is an experiment of n trials: chains of ten, and some that failed.
func large(n int) *sample {
	s := &sample{Run: journal.Run{ID: "ABCDEFGH12", Started: time.Date(2026, 5, 4, 10, 0, 0, 0, time.UTC), Steps: n}}
	output := strings.Repeat("epoch 1 of 100: loss 0.123456\n", 100)
	for i := range n {
		value := float64(i*7919%1000) / 1000
		e := journal.Execution{
			Code:   strings.Repeat("model = fit(model, data)  # one more line of code\n", 30) + "score = 1",
			Trial:  &journal.Trial{Plan: "Change one thing.", Stage: sessions.StageDraft, MetricName: "score", Maximize: true, Metric: &value},
			Detail: &journal.Detail{TermOut: []string{output}}, Changed: true,
		}
		if i%10 > 0 {
			e.Parent, e.Trial.Stage = int64(i), sessions.StageImprove
			e.Trial.Parent = int64(i)
		}
		if i%7 == 3 {
			e.Trial.Buggy, e.Trial.Metric, e.Status = true, nil, sessions.StatusError
		}
		s.add(e)
	}
	return s
}
