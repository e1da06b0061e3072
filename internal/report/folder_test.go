package report

import (
	"encoding/json"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"understudy/internal/journal"
	"understudy/sessions"
)

func TestAnExperimentsFiles(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "experiment")
	paths, err := Write(dir, newSample(t).load(t))
	must(t, err)
	var names []string
	for _, path := range paths {
		names = append(names, filepath.Base(path))
	}
	want := []string{"tree_plot.html", "journal.json", "config.yaml", "best_solution.py", "report.md"}
	expect(t, cmp.Equal(names, want), "wrote %v", names)
	for _, name := range names[1:] { // the page is looked at by a browser
		golden(t, filepath.Join(dir, name), filepath.Join("testdata", "experiment", name+".golden"))
	}
	if info, err := os.Stat(filepath.Join(dir, "figures", "trial-3-1.png")); err != nil || info.Mode().Perm() != 0o600 && runtime.GOOS != "windows" {
		t.Errorf("the figure: %v, %v", info, err)
	}
	left, err := filepath.Glob(filepath.Join(dir, ".new-*"))
	expect(t, err == nil && len(left) == 0, "left behind: %v, %v", left, err)
}

func golden(t *testing.T, path, want string) {
	t.Helper()
	got, err := os.ReadFile(path)
	must(t, err)
	if *update {
		must(t, os.MkdirAll(filepath.Dir(want), 0o755))
		must(t, os.WriteFile(want, got, 0o644))
	}
	expected, err := os.ReadFile(want)
	must(t, err)
	difference := cmp.Diff(plainEnds(string(expected)), string(got))
	expect(t, difference == "", "%s, if wanted go test ./internal/report -update:\n%s", want, difference)
}

func TestARunWithoutTrialsIsReported(t *testing.T) {
	s := &sample{Run: journal.Run{ID: "ABCDEFGH12"}}
	s.add(journal.Execution{Code: "x = 1", Detail: &journal.Detail{TermOut: []string{"\x1b[31m10%\r100%\x1b[0m\n"}}})
	s.add(journal.Execution{Parent: 1, Kind: sessions.RunsCommand, Code: "ls", Status: sessions.StatusError})
	x, err := Load(t.Context(), source{s}, s.Run, "")
	must(t, err)
	dir := t.TempDir()
	if _, err := Write(dir, x); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(dir, "report.md"))
	must(t, err)
	for _, section := range []string{"## Introduction", "## Preprocessing", "## Modelling Methods", "## Results Discussion", "## Future Work", "2 times", "```python\nx = 1\n", "!ls", "```text\n100%\n", "an exception"} {
		expect(t, strings.Contains(string(text), section), "no %q in\n%s", section, text)
	}
	if _, err := os.Stat(filepath.Join(dir, "best_solution.py")); err == nil {
		t.Error("a solution of no trials")
	}
}

func mustText(t *testing.T, x *Experiment) string {
	t.Helper()
	text, err := Text(x)
	must(t, err)
	return text
}

func TestNothingMeasuredIsSaid(t *testing.T) {
	s := &sample{Run: journal.Run{ID: "ABCDEFGH12", Steps: 1}}
	s.add(journal.Execution{Code: "x = 1", Trial: &journal.Trial{Stage: sessions.StageDraft}, Status: sessions.StatusRunning})
	x := s.load(t)
	text := mustText(t, x)
	expect(t, strings.Contains(text, "Nothing was measured.") && strings.Contains(text, "no plan was given"), "%v", text)
	page, err := treePage(x)
	expect(t, err == nil && strings.Contains(string(page), `"status":"running"`), "%v in %s", err, page)
}

func TestMarkdownIsShownAsItWasWritten(t *testing.T) {
	got, want := inline("a|b <i>*x*</i>\n[l](u) `c` & d\\"), `a\|b &lt;i&gt;\*x\*&lt;/i&gt; \[l\](u) \`+"`c\\` &amp; d\\\\"
	expect(t, got == want, "got %s, want %s", got, want)
	if got := fenced("python", "````\nx"); !strings.HasPrefix(got, "`````python\n") || !strings.HasSuffix(got, "\n`````\n") {
		t.Errorf("got %s", got)
	}
}

func TestFiguresThatAreGoneAreNamedInThePage(t *testing.T) {
	s := newSample(t)
	s.find(4).Detail.Figures[0].File = filepath.Join(t.TempDir(), "gone.png")
	x := s.load(t)
	dir := t.TempDir()
	if _, err := Write(dir, x); err != nil {
		t.Fatal(err)
	}
	data := newTreeData(x)
	got := data.Nodes[2].Figures
	expect(t, cmp.Equal(got, []string{"figures/trial-3-1.png"}) && data.Images[got[0]].Source == "", "got %+v", got)
	text, err := os.ReadFile(filepath.Join(dir, "report.md"))
	expect(t, err == nil && !strings.Contains(string(text), "### Figures"), "a link to nothing, %v", err)
}

func TestMetricsOfOtherNamesAreNamed(t *testing.T) {
	s := newSample(t)
	t3 := s.find(4).Trial // on the way to the best, and measured by something else
	t3.MetricName, *t3.Metric = "other", 1e300
	x := s.load(t)
	insist(t, x.Best.Trial.MetricName == "score", "the best measures %s", x.Best.Trial.MetricName)
	text := mustText(t, x)
	for want, times := range map[string]int{"other = 1e+300": 2, "1e+300": 2, "Some of them measure `other` instead": 1, "| 12.125 | -1238 |": 1} {
		got := strings.Count(text, want)
		expect(t, got == times, "%q is there %d times:\n%s", want, got, text)
	}
	data := newTreeData(x)
	expect(t, data.Metric == "score" && data.Nodes[2].Metric.Name == "other" && data.Nodes[3].Metric.Name == "score", "%+v", data)
}

// TestHiddenCharactersAreCleaned: nothing that acts on a terminal, or turns the
// direction of text, is in a file as it is.
func TestHiddenCharactersAreCleaned(t *testing.T) {
	const hidden = "\x1b]0;title\a\u202e\u2066\u009b"
	s := newSample(t)
	e := s.find(3)
	e.Code += hidden
	e.Trial.Plan, e.Trial.Why, e.Detail.TermOut = hidden, hidden, []string{hidden}
	e.Detail.Record.Traceback += hidden
	e.Detail.Stdout.Text, e.Detail.Artifacts = hidden, []journal.Artifact{{Artifact: sessions.Artifact{Name: hidden, Preview: hidden}}}
	x := s.load(t)
	dir := t.TempDir()
	paths, err := Write(dir, x)
	must(t, err)
	d := &Document{Run: x.Run, Cells: newCells(s.executions)}
	page, err := d.Page()
	must(t, err)
	written := map[string]string{"page": string(page), "script": string(d.Script())}
	for _, path := range paths {
		text, err := os.ReadFile(path)
		must(t, err)
		written[filepath.Base(path)] = string(text)
	}
	for name, text := range written {
		if at := strings.IndexFunc(text, isHidden); at >= 0 {
			t.Errorf("%s has %q", name, text[at:min(at+60, len(text))])
		}
	}
	var saved Saved
	if err := json.Unmarshal([]byte(written["journal.json"]), &saved); err != nil || saved.Nodes[1].Plan != hidden {
		t.Errorf("journal.json has the plan %q, %v", saved.Nodes[1].Plan, err)
	}
}

// TestOnlyTheJournalsFilesAreFigures: what the session's code puts where a figure was,
// or in the place of the journal's file, is not read.
func TestOnlyTheJournalsFilesAreFigures(t *testing.T) {
	other := filepath.Join(t.TempDir(), "other.txt")
	must(t, os.WriteFile(other, []byte("of somebody else"), 0o600))
	link := filepath.Join(t.TempDir(), "link.png")
	if err := os.Symlink(other, link); err != nil {
		t.Skip(err)
	}
	for name, figure := range map[string]journal.Figure{
		"not kept":  {Figure: sessions.Figure{Path: link, MIMEType: "image/png"}},
		"kept link": {Figure: sessions.Figure{MIMEType: "image/png"}, File: link},
	} {
		t.Run(name, func(t *testing.T) {
			s := newSample(t)
			s.find(4).Detail.Figures = []journal.Figure{figure}
			s.find(4).Detail.Artifacts = []journal.Artifact{{Artifact: sessions.Artifact{Path: figure.Path, MIMEType: "image/png"}, File: figure.File}}
			x := s.load(t)
			dir := t.TempDir()
			_, err := Write(dir, x)
			must(t, err)
			if copied, err := os.ReadDir(filepath.Join(dir, "figures")); err != nil || len(copied) > 0 {
				t.Errorf("copied %v, %v", copied, err)
			}
			for _, image := range newTreeData(x).Images {
				expect(t, image.Source == "", "the page has %s", image.Source)
			}
			for _, o := range outputs(x.Executions[2]) {
				expect(t, o.Data == nil, "a notebook has %q", o.Data)
			}
		})
	}
}

func TestThePageHoldsOnlyAsManyImagesAsThereIsRoomFor(t *testing.T) {
	s := newSample(t)
	large := filepath.Join(t.TempDir(), "large.png")
	must(t, os.WriteFile(large, make([]byte, pageImage+1), 0o600))
	middling := filepath.Join(t.TempDir(), "middling.png")
	must(t, os.WriteFile(middling, make([]byte, pageImage), 0o600))
	for _, file := range []string{large, middling, middling, middling, middling, middling, middling, middling} {
		d := s.find(5).Detail
		d.Figures = append(d.Figures, journal.Figure{Figure: sessions.Figure{MIMEType: "image/png"}, File: file})
	}
	embedded := 0
	for _, image := range newTreeData(s.load(t)).Images {
		if image.Source != "" {
			embedded++
		}
	}
	want := pageImages / pageImage
	expect(t, embedded == want, "%d images are in the page, want %d", embedded, want)
}

func TestSavedJournalIsReadBack(t *testing.T) {
	text, err := journalJSON(newSample(t).load(t))
	must(t, err)
	var saved Saved
	must(t, json.Unmarshal(text, &saved))
	if len(saved.Nodes) != 6 || *saved.Best != "3fa9c0de11112222@5" || saved.NodeToParent["3fa9c0de11112222@7"] != "3fa9c0de11112222@4" || !strings.Contains(saved.Nodes[1].Code, hostile) {
		t.Errorf("got %+v", saved)
	}
}
