package workspace

import (
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
)

// mustPlan makes a plan for a new workspace.
func mustPlan(t *testing.T, options Options, sources ...string) *Plan {
	t.Helper()
	if options.Dir == "" {
		options.Dir = filepath.Join(t.TempDir(), "w")
	}
	p, err := NewPlan(sources, options)
	must(t, err)
	return p
}

func mustPrepare(t *testing.T, p *Plan) Summary {
	t.Helper()
	made, err := p.Prepare(t.Context())
	must(t, err)
	return made
}

// TestLayout says what becomes of files, directories and archives.
func TestLayout(t *testing.T) {
	first := files(t, map[string]string{"train.csv": "1", "images/a.png": "2", "images/.DS_Store": "?", "z.zip": string(zipped(t, file("x", "3"))), ".hidden": "4"})
	second := files(t, map[string]string{"test.csv": "5", "deep/b.zip": string(zipped(t, file("y", "6"))), "deep/b/there": "7"})
	single := filepath.Join(files(t, map[string]string{"notes.md": "8"}), "notes.md")
	p := mustPlan(t, Options{}, first, second, single)
	made := mustPrepare(t, p)
	want := []string{".hidden=4", "deep/", "deep/b/", "deep/b/there=7", "deep/b.zip=", "images/", "images/a.png=2", "notes.md=8", "test.csv=5", "train.csv=1", "z/", "z/x=3"}
	got := tree(t, p.Input())
	for i, line := range got {
		if strings.HasPrefix(line, "deep/b.zip=") {
			got[i] = "deep/b.zip="
		}
	}
	expect(t, slices.Equal(got, want), "input/ holds %q, want %q", got, want)
	expect(t, made.Files == 8 && !made.Reused && len(made.Notes) == 1 && strings.Contains(made.Notes[0], "there is a b already"), "%+v", made)
	info, err := os.Stat(filepath.Join(p.Dir(), WorkingName))
	expect(t, err == nil && info.IsDir(), "working/: %v", err)
	progress := p.Progress()
	expect(t, progress.Done == progress.Total && progress.Total != 0, "progress %+v", progress)
}

// TestClashes refuses what would lie on each other, and names both.
func TestClashes(t *testing.T) {
	one := files(t, map[string]string{"x.csv": "1", "data/a": "1", "Up": "1"})
	two := files(t, map[string]string{"x.csv": "2"})
	archive := files(t, map[string]string{"data.zip": string(zipped(t, file("x", "1")))})
	archives := files(t, map[string]string{"Data.zip": string(zipped(t, file("x", "1"))), "Data.tar.gz": "gz"})
	case2 := files(t, map[string]string{"uP": "1"})
	for _, test := range []struct {
		name    string
		sources []string
		fold    bool
		want    []string
	}{
		{"files", []string{filepath.Join(one, "x.csv"), filepath.Join(two, "x.csv")}, false, []string{filepath.Join(one, "x.csv"), filepath.Join(two, "x.csv"), "input/x.csv"}},
		{"contents of directories", []string{one, two}, false, []string{one, two, "input/x.csv"}},
		{"an archive and a directory", []string{one, archive}, false, []string{"data.zip", filepath.Join(one, "data"), "input/data"}},
		{"two archives of one directory", []string{archives}, false, []string{filepath.Join(archives, "Data.tar.gz"), filepath.Join(archives, "Data.zip"), "input/Data"}},
		{"given twice", []string{one, one}, false, []string{"given twice"}},
		{"case", []string{one, case2}, true, []string{"input/Up", "input/uP", "only in their case"}},
		{"no clash", []string{one, case2}, false, nil},
	} {
		if runtime.GOOS != "linux" && !test.fold {
			continue
		}
		_, err := NewPlan(test.sources, Options{Dir: filepath.Join(t.TempDir(), "w"), FoldCase: test.fold})
		if (err == nil) != (test.want == nil) || err != nil && !contains(err.Error(), test.want...) {
			t.Errorf("%s: %v, want %q", test.name, err, test.want)
		}
	}
}

// TestRefused are sources that can't be, all said at once.
func TestRefused(t *testing.T) {
	dir := files(t, map[string]string{"w/input-to-be/x": "1", "x.csv": "1"})
	for _, test := range []struct {
		name, source, workspace, want string
	}{
		{"missing", filepath.Join(dir, "no.csv"), filepath.Join(t.TempDir(), "w"), "no.csv does not exist"},
		{"the workspace", filepath.Join(dir, "w"), filepath.Join(dir, "w"), "is the workspace itself"},
		{"around the workspace", dir, filepath.Join(dir, "w"), "contains the workspace"},
		{"around one that is not there yet", dir, filepath.Join(dir, "new", "w"), "contains the workspace"},
		{"in the workspace", filepath.Join(dir, "w", "input-to-be"), filepath.Join(dir, "w"), "is in the workspace"},
		{"a device", os.DevNull, filepath.Join(t.TempDir(), "w"), "a device"},
	} {
		_, err := NewPlan([]string{test.source}, Options{Dir: test.workspace})
		expect(t, err != nil && strings.Contains(err.Error(), test.want), "%s: %v, want %q", test.name, err, test.want)
	}
	_, err := NewPlan([]string{"no-1", "no-2"}, Options{Dir: filepath.Join(t.TempDir(), "w")})
	expect(t, err != nil && contains(err.Error(), "no-1", "no-2"), "two at once: %v", err)
}

// TestLinkMode links entries and unpacks archives.
func TestLinkMode(t *testing.T) {
	dir := files(t, map[string]string{"x.csv": "1", "d/y": "2", "z.zip": string(zipped(t, file("x", "3"))), "bad.zip": "no zip"})
	origin, err := filepath.EvalSymlinks(dir)
	must(t, err)
	p := mustPlan(t, Options{Link: true}, dir)
	made := mustPrepare(t, p)
	want := []string{"bad.zip->" + filepath.Join(origin, "bad.zip"), "d->" + filepath.Join(origin, "d"), "x.csv->" + filepath.Join(origin, "x.csv"), "z/", "z/x=3"}
	holds(t, p, want...)
	expect(t, len(made.Notes) == 1, "notes %q", made.Notes)
}

// TestReuse uses data again that was prepared from the same sources.
func TestReuse(t *testing.T) {
	dir := files(t, map[string]string{"x.csv": "1"})
	other := files(t, map[string]string{"y.csv": "1"})
	options := Options{Dir: filepath.Join(t.TempDir(), "w")}
	made := mustPrepare(t, mustPlan(t, options, dir))
	expect(t, !made.Reused, "a new workspace was reused")
	mark := filepath.Join(options.Dir, InputName, "mark")
	must(t, os.WriteFile(mark, nil, 0o600))
	again := mustPlan(t, options, dir)
	if made := mustPrepare(t, again); !made.Reused {
		t.Error("the same data was copied again")
	}
	_, err := os.Stat(mark)
	expect(t, err == nil, "%v", err)
	p := again.Progress()
	expect(t, p.Done == p.Total, "progress %+v", p)

	if _, err := NewPlan([]string{other}, options); err == nil || !contains(err.Error(), "was made from other data", dir, "remove it") {
		t.Errorf("other sources: %v", err)
	}
	linked := options
	linked.Link = true
	if _, err := NewPlan([]string{dir}, linked); err == nil || !contains(err.Error(), "--data-mode copy") {
		t.Errorf("another mode: %v", err)
	}
	must(t, os.WriteFile(filepath.Join(dir, "x.csv"), []byte("22"), 0o600))
	if _, err := mustPlan(t, options, dir).Prepare(t.Context()); err == nil || !contains(err.Error(), "has changed since", "remove that directory") {
		t.Errorf("changed data: %v", err)
	}
	if _, err := os.Stat(mark); err != nil {
		t.Error("a refusal removed data")
	}
}

// TestForeignInput leaves alone what it has not made.
func TestForeignInput(t *testing.T) {
	dir := files(t, map[string]string{"x.csv": "1"})
	foreign := files(t, map[string]string{"input/mine": "1"})
	_, err := NewPlan([]string{dir}, Options{Dir: foreign})
	expect(t, err != nil && strings.Contains(err.Error(), "is not of --data"), "%v", err)
	// What a killed server has left is no hindrance.
	half := files(t, map[string]string{".understudy/partial/input/old": "1", ".understudy/partial/1/x": "", ".understudy/prepared.json": "{"})
	p := mustPlan(t, Options{Dir: half}, dir)
	mustPrepare(t, p)
	holds(t, p, "x.csv=1")
}

// TestFullDisk refuses before it copies.
func TestFullDisk(t *testing.T) {
	dir := files(t, map[string]string{"x.csv": "1"})
	limits := UsualLimits
	limits.Reserve = 1 << 62
	p := mustPlan(t, Options{Limits: limits}, dir)
	_, err := p.Prepare(t.Context())
	expect(t, err != nil && strings.Contains(err.Error(), "make room"), "%v", err)
	leavesNothing(t, p)
}

// TestEarlierVersion removes what one that was killed had not prepared to its end.
func TestEarlierVersion(t *testing.T) {
	dir := files(t, map[string]string{earlierMark: "", earlierPartial + "/x": "1"})
	p := mustPlan(t, Options{Dir: dir}, files(t, map[string]string{"y": "2"}))
	mustPrepare(t, p)
	for _, name := range []string{earlierMark, earlierPartial} {
		_, err := os.Lstat(filepath.Join(dir, name))
		expect(t, err != nil, "%s is still there", name)
	}
}
