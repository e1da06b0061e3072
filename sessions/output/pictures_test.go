package output

import (
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
		steps               []func(*Transcript)
		shown, record, kept []string
	}{
		"figures":              {[]func(*Transcript){figure("a", ""), cleared(true), figure("b", "")}, []string{"b"}, []string{"b"}, []string{"b"}},
		"some artifacts":       {[]func(*Transcript){artifact("a"), artifact("b"), cleared(false, "a")}, []string{"b"}, []string{"b"}, []string{"b"}},
		"artifacts, no figure": {[]func(*Transcript){figure("f", ""), artifact("a"), cleared(false, "a")}, []string{"f"}, []string{"f"}, []string{"f"}},
		"nothing":              {[]func(*Transcript){cleared(true, "a")}, nil, nil, nil},
		"what was told stays readable": {[]func(*Transcript){figure("f", ""), artifact("a"), take, cleared(true, "a")},
			nil, nil, []string{"f", "a"}},
		"one display":  {[]func(*Transcript){figure("a", "x"), figure("b", ""), figure("c", "x")}, []string{"c", "b"}, []string{"c", "b"}, []string{"c", "b"}},
		"two displays": {[]func(*Transcript){figure("a", "x"), figure("b", "y")}, []string{"a", "b"}, []string{"a", "b"}, []string{"a", "b"}},
	} {
		t.Run(name, func(t *testing.T) {
			all := newPieces(100)
			tr := testTranscript(t.TempDir(), 100, 0)
			tr.all = &all
			for _, step := range test.steps {
				step(tr)
			}
			x, record := tr.Take(), tr.Recorded()
			for what, pair := range map[string][2][]string{
				"shown":  {test.shown, names(x.Figures, x.Artifacts)},
				"record": {test.record, names(record.Figures, record.Artifacts)},
				"kept":   {test.kept, names(tr.shown, tr.keeps)},
			} {
				if diff := cmp.Diff(pair[0], pair[1]); diff != "" {
					t.Errorf("%s (-want +got):\n%s", what, diff)
				}
			}
			held := 0
			for _, f := range record.Figures {
				held += len(f.Preview)
			}
			for _, a := range record.Artifacts {
				held += len(a.Image)
			}
			if tr.previews != held {
				t.Errorf("%d bytes of images are counted, %d are held", tr.previews, held)
			}
		})
	}
}
