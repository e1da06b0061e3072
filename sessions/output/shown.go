package output

import (
	"slices"
	"sync"
)

// exhibit is a figure or an artifact that an execution has shown.
type exhibit struct {
	figure   Figure
	artifact Artifact
	isFigure bool
	image    []byte // for the first answer that tells of it
	fresh    bool   // no answer has told of it
}

// key tells it from others: what comes later under the same one takes its place. A figure
// that is not updated has none.
func (x exhibit) key() string {
	if x.isFigure {
		return x.figure.DisplayID
	}
	return x.artifact.Name
}

// size is how many bytes what is said of it has, with some for its place in lists.
func (x exhibit) size() int {
	f, a := x.figure, x.artifact
	n := 200 + len(f.Path) + len(f.MIMEType) + len(f.Title) + len(f.DisplayID) +
		len(a.Name) + len(a.Kind) + len(a.Path) + len(a.MIMEType) + len(a.Preview)
	for _, name := range f.Names {
		n += len(name) + 16
	}
	return n
}

// Figure takes a figure that was shown; it takes the place of one with its DisplayID.
func (t *Transcript) Figure(f Figure) {
	image := f.Preview
	f.Preview = nil
	t.show(exhibit{figure: f, isFigure: true, image: image})
}

// Artifact takes a file that was kept; it takes the place of one of its name, which it has
// replaced on disk.
func (t *Transcript) Artifact(a Artifact) {
	image := a.Image
	a.Image = nil
	t.show(exhibit{artifact: a, image: image})
}

func (t *Transcript) show(x exhibit) {
	t.mu.Lock()
	defer t.mu.Unlock()
	i, more := t.find(x), x.size()
	if i >= 0 {
		more -= t.shown[i].size()
	}
	if t.said+more > maxSaid || i < 0 && len(t.shown) == maxShown {
		t.unshown++
		return
	}
	t.said += more
	if i >= 0 {
		t.dropImage(t.shown[i])
		x.artifact.Replaced = t.shown[i].artifact.Replaced + 1
	}
	if !t.images.take(len(x.image)) {
		x.image = nil
	}
	t.previews += len(x.image)
	x.fresh = true
	if i >= 0 && x.isFigure {
		t.shown[i] = x
		return
	}
	if i >= 0 {
		t.shown = slices.Delete(t.shown, i, i+1)
	}
	t.shown = append(t.shown, x)
}

// find returns the place of what x replaces, -1 if there is nothing.
func (t *Transcript) find(x exhibit) int {
	if x.key() == "" { // else the search would cost each of many figures all before it
		return -1
	}
	return slices.IndexFunc(t.shown, func(y exhibit) bool { return y.isFigure == x.isFigure && y.key() == x.key() })
}

func (t *Transcript) dropImage(x exhibit) {
	t.images.give(len(x.image))
	t.previews -= len(x.image)
}

// Clear takes back what was shown. What nobody has been told of yet is forgotten.
func (t *Transcript) Clear(c Cleared) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.shown = slices.DeleteFunc(t.shown, func(x exhibit) bool {
		cleared := x.fresh && (x.isFigure && c.Figures || !x.isFigure && slices.Contains(c.Artifacts, x.artifact.Name))
		if cleared {
			t.dropImage(x)
			t.said -= x.size()
		}
		return cleared
	})
}

// takeShown hands out what no answer has told of, with its images.
func (t *Transcript) takeShown() (figures []Figure, artifacts []Artifact) {
	for i, x := range t.shown {
		if !x.fresh {
			continue
		}
		if x.isFigure {
			x.figure.Preview = x.image
			figures = append(figures, x.figure)
		} else {
			x.artifact.Image = x.image
			artifacts = append(artifacts, x.artifact)
		}
		t.shown[i].fresh, t.shown[i].image = false, nil
	}
	t.images.give(t.previews)
	t.previews = 0
	return figures, artifacts
}

// allShown is all there is to be recalled, without images.
func (t *Transcript) allShown() (figures []Figure, artifacts []Artifact) {
	for _, x := range t.shown {
		if x.isFigure {
			figures = append(figures, x.figure)
		} else {
			artifacts = append(artifacts, x.artifact)
		}
	}
	return figures, artifacts
}

const (
	// MaxImages is how many bytes of images that nobody has fetched yet one session may
	// have in memory, of all its executions; further figures are files only. One answer
	// holds no more: 10 MiB in base64.
	MaxImages = 8 << 20
	// maxAllImages is how many all sessions may have together.
	maxAllImages = 64 << 20
)

// ImageRoom is what is left of that, of a session or of all.
type ImageRoom struct {
	above *ImageRoom // that of all sessions

	mu    sync.Mutex
	left  int
	taken int
	over  bool // the session has ended
}

// take reports whether there is room for an image, which then has it.
func (r *ImageRoom) take(size int) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.over || size > r.left || r.above != nil && !r.above.take(size) {
		return false
	}
	r.left, r.taken = r.left-size, r.taken+size
	return true
}

// give takes room back.
func (r *ImageRoom) give(size int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.over {
		return
	}
	r.left, r.taken = r.left+size, r.taken-size
	if r.above != nil {
		r.above.give(size)
	}
}

// AllImages returns the room for the images of all sessions.
func AllImages() *ImageRoom { return &ImageRoom{left: maxAllImages} }

// ForOne returns that of one session.
func (r *ImageRoom) ForOne() *ImageRoom { return &ImageRoom{above: r, left: MaxImages} }

// Close takes back what a session had that has ended: nobody will fetch its images.
func (r *ImageRoom) Close() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.over && r.above != nil {
		r.above.give(r.taken)
	}
	r.over = true
}
