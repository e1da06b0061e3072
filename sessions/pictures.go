package sessions

import "slices"

// Figure takes a figure that was shown; it takes the place of one with its DisplayID.
func (t *transcript) Figure(f Figure) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if f.DisplayID != "" {
		for _, before := range t.previewed().figures {
			if f.takesPlaceOf(before) {
				t.previews -= len(before.Preview)
			}
		}
	}
	if t.previews += len(f.Preview); t.previews > maxPreviews {
		f.Preview = nil
	}
	if !addLatest(&t.fresh.figures, f) {
		t.untold++
	}
	if t.all != nil {
		addLatest(&t.all.figures, f)
	}
	f.Preview = nil
	addLatest(&t.shown, f)
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

// previewed is where the previews of all that was shown are, as far as they are still held.
func (t *transcript) previewed() *pieces {
	if t.all != nil {
		return t.all
	}
	return &t.fresh
}

// Clear takes back what was shown. What nobody has been told of yet is forgotten.
func (t *transcript) Clear(c Cleared) {
	t.mu.Lock()
	defer t.mu.Unlock()
	figures, artifacts := t.previewed().clear(c)
	for _, f := range figures {
		t.previews -= len(f.Preview)
	}
	for _, a := range artifacts {
		t.previews -= len(a.Image)
	}
	if t.all != nil {
		figures, artifacts = t.fresh.clear(c)
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
	for _, before := range t.previewed().artifacts {
		if before.Name == a.Name {
			t.previews -= len(before.Image)
		}
	}
	if t.previews += len(a.Image); t.previews > maxPreviews {
		a.Image = nil
	}
	if !addNewest(&t.fresh.artifacts, a) {
		t.untold++
	}
	if t.all != nil {
		addNewest(&t.all.artifacts, a)
	}
	a.Image = nil
	addNewest(&t.keeps, a)
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
