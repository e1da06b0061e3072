package screen

import "strings"

// item is text, or the text of a display with an id.
type item struct {
	stream int
	gap    int64
	id     string
	from   int // how many updates there had been
	parts  []string
}

// resolver obeys the marks.
type resolver struct {
	items   []*item
	waits   bool             // all goes when text comes
	open    *item            // what marked text belongs to
	updates int              // so far
	latest  map[string]*item // update of an id
	known   map[string]bool  // ids that were displayed
	size    int              // of all text
}

// resolve returns the pieces as their marks have left them; neighbours of one stream are
// one piece.
func resolve(pieces []Piece) []Piece {
	r := resolver{latest: map[string]*item{}, known: map[string]bool{}}
	for _, p := range pieces {
		r.take(p)
	}
	return r.joined()
}

func (r *resolver) take(p Piece) {
	r.size += len(p.Text)
	if p.Gap > 0 {
		p.Text = cutMark.ReplaceAllString(p.Text, "")
		r.items = append(r.items, &item{stream: p.Stream, gap: p.Gap})
		r.open = nil
	}
	for {
		start := strings.Index(p.Text, markStart)
		if start < 0 {
			r.text(p.Stream, p.Text)
			return
		}
		r.text(p.Stream, p.Text[:start])
		p.Text = p.Text[start:]
		mark := firstMark.FindString(p.Text[:min(len(p.Text), longestMark)])
		if mark == "" { // another's sequence
			mark = p.Text[:1]
			r.text(p.Stream, mark)
		} else {
			word, id, _ := strings.Cut(mark[len(markStart):len(mark)-1], ";")
			r.mark(p.Stream, word, id)
		}
		p.Text = p.Text[len(mark):]
	}
}

func (r *resolver) text(stream int, text string) {
	if text == "" {
		return
	}
	if r.waits {
		r.clear()
	}
	if r.open != nil && r.open.stream == stream {
		r.open.parts = append(r.open.parts, text)
		return
	}
	r.items = append(r.items, &item{stream: stream, parts: []string{text}})
}

func (r *resolver) mark(stream int, word, id string) {
	switch word {
	case "clear":
		r.clear()
	case "clear-wait":
		r.waits = true
	case "end":
		r.open = nil
	default:
		r.open = &item{stream: stream, id: id, from: r.updates}
		if word == "update" && r.known[id] {
			r.updates++
			r.open.from = r.updates
			r.latest[id] = r.open
			return
		}
		if r.waits { // what has an id takes a place
			r.clear()
		}
		r.known[id] = true // an update of what an earlier answer showed is shown in this one
		r.items = append(r.items, r.open)
	}
}

func (r *resolver) clear() { r.items, r.waits = nil, false }

func (r *resolver) joined() (all []Piece) {
	var parts []string
	end := func() {
		if n := len(all); n > 0 {
			all[n-1].Text = strings.Join(parts, "")
		}
		parts = nil
	}
	for _, it := range r.items {
		if n := len(all); n == 0 || all[n-1].Stream != it.stream || it.gap > 0 {
			end()
			all = append(all, Piece{Stream: it.stream, Gap: it.gap})
		}
		it = r.state(it)
		parts = append(parts, it.parts...)
	}
	end()
	return all
}

// state is what an item shows in the end. One update may stand in many places: in
// all they get the size of the whole text, and keep what they had beyond that.
func (r *resolver) state(it *item) *item {
	update := r.latest[it.id]
	if it.id == "" || update == nil || update.from <= it.from || r.size < 0 {
		return it
	}
	for _, part := range update.parts {
		r.size -= len(part)
	}
	return update
}
