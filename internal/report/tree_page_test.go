package report

import (
	"context"
	"html"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"strings"
	"testing"
	"time"

	"understudy/internal/journal"
	"understudy/sessions"
)

// frame is a page of the same server that looks into the tree's page, clicks and
// presses keys in it, and writes down what the panel shows.
const frame = `<!doctype html><iframe id="f" src="/tree#node-2" width="1200" height="800"></iframe><pre id="seen"></pre><script>
const f = document.getElementById("f"), seen = document.getElementById("seen");
f.addEventListener("load", async () => {
  const page = f.contentDocument;
  const note = (what) => { seen.textContent += "== " + what + " ==\n" + page.getElementById("panel").innerText + "\n"; };
  const press = (key) => page.activeElement.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true }));
  note("fragment");
  page.getElementById("node-3").dispatchEvent(new MouseEvent("click", { bubbles: true }));
  note("click");
  for (const image of page.images) await image.decode();
  seen.textContent += "images: " + [...page.images].map((i) => i.naturalWidth + "x" + i.naturalHeight) + "\n";
  press("ArrowDown");
  note("down");
  press("ArrowRight");
  note("right");
  press("ArrowUp");
  press("ArrowUp");
  press("ArrowUp");
  note("up");
  press("b");
  note("best");
  seen.textContent += "title: " + page.title + "\nscripts: " + page.scripts.length + "\nnodes: " + page.querySelectorAll(".node").length + "\nend";
});
</script>`

// browse returns the DOM that headless Chromium makes of a page of the server.
func browse(t *testing.T, address string) string {
	t.Helper()
	chromium, err := exec.LookPath("chromium")
	if err != nil {
		t.Skip("needs chromium")
	}
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	dom, err := exec.CommandContext(ctx, chromium, "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
		"--user-data-dir="+t.TempDir(), "--virtual-time-budget=10000", "--dump-dom", address).Output()
	if err != nil {
		t.Fatal(err)
	}
	return html.UnescapeString(string(dom))
}

func serve(t *testing.T, page []byte) *httptest.Server {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		if r.URL.Path == "/tree" {
			_, _ = w.Write(page)
			return
		}
		_, _ = w.Write([]byte(frame))
	}))
	t.Cleanup(server.Close)
	return server
}

func TestThePageShowsTheNodeThatIsChosen(t *testing.T) {
	page, err := treePage(newSample(t).load(t))
	if err != nil {
		t.Fatal(err)
	}
	dom := browse(t, serve(t, page).URL)
	_, seen, _ := strings.Cut(dom, `<pre id="seen">`)
	at := 0
	for _, want := range []string{
		"== fragment ==", "Trial 2", "buggy", "NameError: name 'fit' is not defined", "Fit a line. " + strings.Split(hostile, " \u2028")[0], "slope = fit(rows)  # </script><script>", "OUTPUT", "</script><script>document.title='x'</script>",
		"== click ==", "Trial 3", "debug", "13.25", "Fit the line by least squares myself.", "slope = sum(x * y for x, y in rows)", "Line | fitted", "images: 60x40",
		"== down ==", "Trial 4", "best", "12.125, −1.125 from trial 3", "offset = 0.5",
		"== right ==", "Trial 6",
		"== up ==", "Trial 1", "baseline 1250.4375",
		"== best ==", "Trial 4",
		"title: line, run ABCDEFGH12", "scripts: 2", "nodes: 6", "end",
	} {
		next := strings.Index(seen[at:], want)
		if next < 0 {
			t.Fatalf("no %q after %q in\n%s", want, seen[:at], seen)
		}
		at += next + len(want)
	}
}

func TestThePageHoldsNothingThatCouldRun(t *testing.T) {
	page, err := treePage(newSample(t).load(t))
	if err != nil {
		t.Fatal(err)
	}
	text := string(page)
	if strings.Count(text, "</script>") != 2 || strings.Count(text, "<script") != 2 || strings.Contains(text, "<img src=x") || strings.Contains(text, "<!-- ]]>") {
		t.Error("code of a trial stands in the page as it is")
	}
	for _, outside := range []string{"https://", "src=\"http", "@import", "url("} {
		if strings.Contains(text, outside) {
			t.Errorf("the page needs %s", outside)
		}
	}
	if strings.Contains(text, "{{") || !strings.Contains(text, "default-src 'none'") {
		t.Error("the page is not filled in")
	}
}

func TestThePageOfAThousandTrials(t *testing.T) {
	page, err := treePage(large(1000).load(t))
	if err != nil {
		t.Fatal(err)
	}
	dom := browse(t, serve(t, page).URL)
	if !strings.Contains(dom, "nodes: 1000\nend") {
		t.Errorf("the page did not draw: %d bytes of DOM", len(dom))
	}
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
