package output

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestWhatIsClearedIsNotShown(t *testing.T) {
	names := func(figures []Figure, artifacts []Artifact) (all []string) {
		for _, f := range figures {
			all = append(all, f.Path)
		}
		for _, a := range artifacts {
			all = append(all, a.Name)
		}
		return all
	}
	figure := func(path, id string) func(*Transcript) {
		return func(tr *Transcript) { tr.Figure(Figure{Path: path, DisplayID: id, Preview: []byte(path)}) }
	}
	artifact := func(name string) func(*Transcript) {
		return func(tr *Transcript) { tr.Artifact(Artifact{Name: name, Image: []byte(name)}) }
	}
	cleared := func(figures bool, artifacts ...string) func(*Transcript) {
		return func(tr *Transcript) { tr.Clear(Cleared{Figures: figures, Artifacts: artifacts}) }
	}
	take := func(tr *Transcript) { tr.Take() }
	for name, test := range map[string]struct {
		steps       []func(*Transcript)
		shown, kept []string
	}{
		"figures":              {[]func(*Transcript){figure("a", ""), cleared(true), figure("b", "")}, []string{"b"}, []string{"b"}},
		"some artifacts":       {[]func(*Transcript){artifact("a"), artifact("b"), cleared(false, "a")}, []string{"b"}, []string{"b"}},
		"artifacts, no figure": {[]func(*Transcript){figure("f", ""), artifact("a"), cleared(false, "a")}, []string{"f"}, []string{"f"}},
		"nothing":              {[]func(*Transcript){cleared(true, "a")}, nil, nil},
		"what was told stays readable": {[]func(*Transcript){figure("f", ""), artifact("a"), take, cleared(true, "a")},
			nil, []string{"f", "a"}},
		"one display":  {[]func(*Transcript){figure("a", "x"), figure("b", ""), figure("c", "x")}, []string{"c", "b"}, []string{"c", "b"}},
		"two displays": {[]func(*Transcript){figure("a", "x"), figure("b", "y")}, []string{"a", "b"}, []string{"a", "b"}},
	} {
		t.Run(name, func(t *testing.T) {
			tr := testTranscript(t.TempDir(), 100, 0)
			for _, step := range test.steps {
				step(tr)
			}
			x, record := tr.Take(), tr.Recorded()
			for what, pair := range map[string][2][]string{
				"shown": {test.shown, names(x.Figures, x.Artifacts)},
				"kept":  {test.kept, names(record.Figures, record.Artifacts)},
			} {
				diff := cmp.Diff(pair[0], pair[1])
				expect(t, diff == "", "%s (-want +got):\n%s", what, diff)
			}
			for _, x := range tr.shown {
				expect(t, x.image == nil && tr.previews == 0 && tr.images.taken == 0, "%d bytes of images are counted, %d are held", tr.previews, len(x.image))
			}
		})
	}
}

// What one session's answers hold that nobody fetches leaves room for others', and all of
// it is there again when they are fetched, or their session ends.
func TestImageRoom(t *testing.T) {
	all := &ImageRoom{left: 10}
	one, other := &ImageRoom{above: all, left: 8}, &ImageRoom{above: all, left: 8}
	for i, step := range []struct {
		room *ImageRoom
		take int // give where it is less than 0
		want bool
	}{
		{one, 6, true}, {one, 3, false}, {other, 5, false}, {other, 4, true}, {other, 1, false},
		{one, -6, true}, {other, 4, true}, {one, 3, false}, {one, 2, true},
	} {
		got := true
		if step.take < 0 {
			step.room.give(-step.take)
		} else {
			got = step.room.take(step.take)
		}
		expect(t, got == step.want, "step %d: %t", i, got)
	}
	other.Close()
	other.give(8) // by who still has an answer of it
	other.Close()
	expect(t, all.left == 8 && !other.take(1) && one.take(6), "%d left in all, %d and %d of each", all.left, one.left, other.left)
}

// What is said of figures and artifacts is bounded as a whole; what is replaced or cleared
// counts no more.
func TestTranscriptBoundsWhatItSays(t *testing.T) {
	long, half := strings.Repeat("x", maxSaid), strings.Repeat("x", maxSaid*2/3)
	for name, step := range map[string]struct {
		do           func(*Transcript)
		told, untold int
	}{
		"a title":    {func(tr *Transcript) { tr.Figure(Figure{Title: long}) }, 0, 1},
		"names":      {func(tr *Transcript) { tr.Figure(Figure{Names: make([]string, maxSaid/16)}) }, 0, 1},
		"an id":      {func(tr *Transcript) { tr.Figure(Figure{DisplayID: long}) }, 0, 1},
		"a name":     {func(tr *Transcript) { tr.Artifact(Artifact{Name: long}) }, 0, 1},
		"a preview":  {func(tr *Transcript) { tr.Artifact(Artifact{Preview: long}) }, 0, 1},
		"both":       {func(tr *Transcript) { tr.Figure(Figure{Path: half}); tr.Artifact(Artifact{Path: half}) }, 1, 1},
		"a display":  {func(tr *Transcript) { f := Figure{DisplayID: "a", Title: half}; tr.Figure(f); tr.Figure(f) }, 1, 0},
		"one's name": {func(tr *Transcript) { a := Artifact{Name: half}; tr.Artifact(a); tr.Artifact(a) }, 1, 0},
		"cleared": {func(tr *Transcript) {
			tr.Figure(Figure{Title: half})
			tr.Clear(Cleared{Figures: true})
			tr.Figure(Figure{Title: half})
		}, 1, 0},
	} {
		t.Run(name, func(t *testing.T) {
			tr := testTranscript(t.TempDir(), 100, 100)
			step.do(tr)
			memory, _ := tr.Held()
			told := len(tr.shown)
			expect(t, told == step.told && tr.unshown == step.untold && memory <= maxSaid, "%d told, %d not, %d bytes", told, tr.unshown, memory)
		})
	}
}
