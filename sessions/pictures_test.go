package sessions

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
	figure := func(path, id string) func(*transcript) {
		return func(tr *transcript) { tr.Figure(Figure{Path: path, DisplayID: id, Preview: []byte(path)}) }
	}
	artifact := func(name string) func(*transcript) {
		return func(tr *transcript) { tr.Artifact(Artifact{Name: name, Image: []byte(name)}) }
	}
	cleared := func(figures bool, artifacts ...string) func(*transcript) {
		return func(tr *transcript) { tr.Clear(Cleared{Figures: figures, Artifacts: artifacts}) }
	}
	take := func(tr *transcript) { tr.take() }
	for name, test := range map[string]struct {
		steps               []func(*transcript)
		shown, record, kept []string
	}{
		"figures":              {[]func(*transcript){figure("a", ""), cleared(true), figure("b", "")}, []string{"b"}, []string{"b"}, []string{"b"}},
		"some artifacts":       {[]func(*transcript){artifact("a"), artifact("b"), cleared(false, "a")}, []string{"b"}, []string{"b"}, []string{"b"}},
		"artifacts, no figure": {[]func(*transcript){figure("f", ""), artifact("a"), cleared(false, "a")}, []string{"f"}, []string{"f"}, []string{"f"}},
		"nothing":              {[]func(*transcript){cleared(true, "a")}, nil, nil, nil},
		"what was told stays readable": {[]func(*transcript){figure("f", ""), artifact("a"), take, cleared(true, "a")},
			nil, nil, []string{"f", "a"}},
		"one display":  {[]func(*transcript){figure("a", "x"), figure("b", ""), figure("c", "x")}, []string{"c", "b"}, []string{"c", "b"}, []string{"c", "b"}},
		"two displays": {[]func(*transcript){figure("a", "x"), figure("b", "y")}, []string{"a", "b"}, []string{"a", "b"}, []string{"a", "b"}},
	} {
		t.Run(name, func(t *testing.T) {
			all := newPieces(100)
			tr := newTranscript(t.TempDir(), &Options{OutputLimit: 100})
			tr.all = &all
			for _, step := range test.steps {
				step(tr)
			}
			x, record := tr.take(), tr.recorded()
			for what, pair := range map[string][2][]string{
				"shown":  {test.shown, names(x.figures, x.artifacts)},
				"record": {test.record, names(record.figures, record.artifacts)},
				"kept":   {test.kept, names(tr.shown, tr.keeps)},
			} {
				if diff := cmp.Diff(pair[0], pair[1]); diff != "" {
					t.Errorf("%s (-want +got):\n%s", what, diff)
				}
			}
			held := 0
			for _, f := range record.figures {
				held += len(f.Preview)
			}
			for _, a := range record.artifacts {
				held += len(a.Image)
			}
			if tr.previews != held {
				t.Errorf("%d bytes of images are counted, %d are held", tr.previews, held)
			}
		})
	}
}
