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
	t.fresh.figures = withLatest(t.fresh.figures, f)
	if t.all != nil {
		t.all.figures = withLatest(t.all.figures, f)
	}
	f.Preview = nil
	if t.shown = withLatest(t.shown, f); len(t.shown) > maxShown {
		t.shown = t.shown[:maxShown]
	}
}

func (f Figure) takesPlaceOf(before Figure) bool {
	return f.DisplayID == before.DisplayID
}

// withLatest puts f in the place of the figure that has its DisplayID, or at the end.
func withLatest(figures []Figure, f Figure) []Figure {
	if f.DisplayID != "" { // else the search would cost each of many figures all before it
		if i := slices.IndexFunc(figures, f.takesPlaceOf); i >= 0 {
			figures[i] = f
			return figures
		}
	}
	return append(figures, f)
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
	t.fresh.artifacts = withNewest(t.fresh.artifacts, a)
	if t.all != nil {
		t.all.artifacts = withNewest(t.all.artifacts, a)
	}
	a.Image = nil
	if t.keeps = withNewest(t.keeps, a); len(t.keeps) > maxShown {
		t.keeps = t.keeps[:maxShown]
	}
}

// withNewest adds a in the place of one of its name, which it has replaced on disk.
func withNewest(artifacts []Artifact, a Artifact) []Artifact {
	others := slices.DeleteFunc(artifacts, func(each Artifact) bool { return each.Name == a.Name })
	return append(others, a)
}
