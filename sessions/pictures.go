package sessions

import "slices"

// Figure takes a figure that was shown; it takes the place of one with its DisplayID.
func (t *transcript) Figure(f Figure) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if f.DisplayID != "" {
		for _, before := range t.fresh.figures {
			if f.takesPlaceOf(before) {
				t.previews -= len(before.Preview)
			}
		}
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

// withRoom returns an image if there is room for it until it is taken.
func (t *transcript) withRoom(image []byte) []byte {
	if t.previews+len(image) > maxPreviews {
		return nil
	}
	t.previews += len(image)
	return image
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
func (t *transcript) Clear(c Cleared) {
	t.mu.Lock()
	defer t.mu.Unlock()
	figures, artifacts := t.fresh.clear(c)
	for _, f := range figures {
		t.previews -= len(f.Preview)
	}
	for _, a := range artifacts {
		t.previews -= len(a.Image)
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
func (t *transcript) Artifact(a Artifact) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, before := range t.keeps {
		if before.Name == a.Name {
			a.Replaced = before.Replaced + 1
		}
	}
	for _, before := range t.fresh.artifacts {
		if before.Name == a.Name {
			t.previews -= len(before.Image)
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
