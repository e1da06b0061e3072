package output

import (
	"slices"
	"sync"
)

// Figure takes a figure that was shown; it takes the place of one with its DisplayID.
func (t *Transcript) Figure(f Figure) {
	t.mu.Lock()
	defer t.mu.Unlock()
	replaced := 0
	if f.DisplayID != "" {
		for _, before := range t.fresh.figures {
			if f.takesPlaceOf(before) {
				t.dropImage(before.Preview)
			}
		}
		if i := slices.IndexFunc(t.shown, f.takesPlaceOf); i >= 0 {
			replaced = t.shown[i].size()
		}
	}
	if !t.mayTell(f.size() - replaced) {
		return
	}
	f.Preview = t.withRoom(f.Preview)
	addLatest(&t.fresh.figures, f)
	f.Preview = nil // only an answer has it
	if t.all != nil {
		addLatest(&t.all.figures, f)
	}
	if !addLatest(&t.shown, f) {
		t.untold++
	}
}

// mayTell reports whether so many more bytes may be said of what is shown.
func (t *Transcript) mayTell(size int) bool {
	if t.said+size > maxSaid {
		t.untold++
		return false
	}
	t.said += size
	return true
}

// listed is what a figure or an artifact takes in lists beside its texts, in bytes.
const listed = 200

// size is how many bytes what is said of the figure has.
func (f Figure) size() int {
	n := listed + len(f.Path) + len(f.MIMEType) + len(f.Title) + len(f.DisplayID)
	for _, name := range f.Names {
		n += len(name) + 16
	}
	return n
}

// size is the same for an artifact.
func (a Artifact) size() int {
	return listed + len(a.Name) + len(a.Kind) + len(a.Path) + len(a.MIMEType) + len(a.Preview)
}

// withRoom returns an image if there is room for it until it is taken.
func (t *Transcript) withRoom(image []byte) []byte {
	if !t.images.take(len(image)) {
		return nil
	}
	t.previews += len(image)
	return image
}

func (t *Transcript) dropImage(image []byte) {
	t.images.give(len(image))
	t.previews -= len(image)
}

func (f Figure) takesPlaceOf(before Figure) bool {
	return f.DisplayID == before.DisplayID
}

// addLatest puts f in the place of the figure that has its DisplayID, or at the end of
// those that there is room for.
func addLatest(figures *[]Figure, f Figure) (added bool) {
	if f.DisplayID != "" { // else the search would cost each of many figures all before it
		if i := slices.IndexFunc(*figures, f.takesPlaceOf); i >= 0 {
			(*figures)[i] = f
			return true
		}
	}
	if len(*figures) == maxShown {
		return false
	}
	*figures = append(*figures, f)
	return true
}

// Clear takes back what was shown. What nobody has been told of yet is forgotten.
func (t *Transcript) Clear(c Cleared) {
	t.mu.Lock()
	defer t.mu.Unlock()
	figures, artifacts := t.fresh.clear(c)
	for _, f := range figures {
		t.dropImage(f.Preview)
		t.said -= f.size()
	}
	for _, a := range artifacts {
		t.dropImage(a.Image)
		t.said -= a.size()
	}
	if t.all != nil {
		t.all.clear(c)
	}
	t.shown = slices.DeleteFunc(t.shown, func(f Figure) bool {
		return slices.ContainsFunc(figures, func(untold Figure) bool { return untold.Path == f.Path })
	})
	t.keeps = slices.DeleteFunc(t.keeps, func(a Artifact) bool {
		return slices.ContainsFunc(artifacts, func(untold Artifact) bool { return untold.Name == a.Name })
	})
}

// clear takes out what is cleared, and returns it.
func (p *pieces) clear(c Cleared) (figures []Figure, artifacts []Artifact) {
	if c.Figures {
		figures, p.figures = p.figures, nil
	}
	kept := p.artifacts[:0:0]
	for _, a := range p.artifacts {
		if slices.Contains(c.Artifacts, a.Name) {
			artifacts = append(artifacts, a)
		} else {
			kept = append(kept, a)
		}
	}
	p.artifacts = kept
	return figures, artifacts
}

// Artifact takes a file that was kept.
func (t *Transcript) Artifact(a Artifact) {
	t.mu.Lock()
	defer t.mu.Unlock()
	replaced := 0
	for _, before := range t.keeps {
		if before.Name == a.Name {
			a.Replaced, replaced = before.Replaced+1, before.size()
		}
	}
	if !t.mayTell(a.size() - replaced) {
		return
	}
	for _, before := range t.fresh.artifacts {
		if before.Name == a.Name {
			t.dropImage(before.Image)
		}
	}
	a.Image = t.withRoom(a.Image)
	addNewest(&t.fresh.artifacts, a)
	a.Image = nil
	if t.all != nil {
		addNewest(&t.all.artifacts, a)
	}
	if !addNewest(&t.keeps, a) {
		t.untold++
	}
}

// addNewest adds a in the place of one of its name, which it has replaced on disk, as far
// as there is room.
func addNewest(artifacts *[]Artifact, a Artifact) (added bool) {
	*artifacts = slices.DeleteFunc(*artifacts, func(each Artifact) bool { return each.Name == a.Name })
	if len(*artifacts) == maxShown {
		return false
	}
	*artifacts = append(*artifacts, a)
	return true
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
