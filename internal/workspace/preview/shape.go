package preview

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
)

const (
	shapeDepth = 24   // levels of a JSON value that are told apart
	mostKeys   = 200  // of an object that are told apart
	mostShapes = 5000 // keys of a whole file
	shownKeys  = 30
	shownLevel = 4
)

// shape is what the values at one place of JSON have in common.
type shape struct {
	nulls, booleans, numbers, texts, objects, arrays int
	fractions                                        bool // some numbers are not whole
	least, most                                      float64
	examples                                         []string // different texts
	keys                                             []string // in order of appearance
	below                                            map[string]*shape
	otherKeys                                        map[uint64]struct{} // beyond mostKeys
	element                                          *shape
	shortest, longest                                int // arrays
}

// shaper reads JSON, one token after the other, and keeps shapes only.
type shaper struct {
	*json.Decoder
	left  int // shapes that may still be made
	check func() error
	reads int
}

func newShaper(r io.Reader, check func() error) *shaper {
	d := json.NewDecoder(r)
	d.UseNumber()
	return &shaper{Decoder: d, left: mostShapes, check: check}
}

// value takes the next value into the shape. What stands too deep is read and
// dropped.
func (d *shaper) value(into *shape, depth int) error {
	token, err := d.Token()
	if err != nil {
		return err
	}
	if d.reads++; d.reads%4096 == 0 && errors.Is(d.check(), errTime) {
		return errTime
	}
	switch v := token.(type) {
	case nil:
		into.nulls++
	case bool:
		into.booleans++
	case json.Number:
		into.number(v)
	case string:
		into.text(v)
	case json.Delim:
		if depth >= shapeDepth {
			return d.drop()
		}
		if v == '{' {
			return d.object(into, depth)
		}
		return d.array(into, depth)
	}
	return nil
}

// drop reads to the end of the object or array that was begun.
func (d *shaper) drop() error {
	for open := 1; open > 0; {
		token, err := d.Token()
		if err != nil {
			return err
		}
		switch token {
		case json.Delim('{'), json.Delim('['):
			open++
		case json.Delim('}'), json.Delim(']'):
			open--
		}
	}
	return nil
}

func (d *shaper) object(into *shape, depth int) error {
	into.objects++
	for d.More() {
		token, err := d.Token()
		if err != nil {
			return err
		}
		key, _ := token.(string)
		below, err := d.key(into, key)
		if err != nil {
			return err
		}
		if err := d.value(below, depth+1); err != nil {
			return err
		}
	}
	_, err := d.Token()
	return err
}

// key returns the shape of a key's values; one that is thrown away where there are
// too many keys.
func (d *shaper) key(into *shape, key string) (*shape, error) {
	if below := into.below[key]; below != nil {
		return below, nil
	}
	if len(into.keys) >= mostKeys || d.left == 0 {
		if into.otherKeys == nil {
			into.otherKeys = map[uint64]struct{}{}
		}
		if len(into.otherKeys) < mostDistinct {
			into.otherKeys[hashOf(key)] = struct{}{}
		}
		return &shape{}, nil
	}
	d.left--
	if into.below == nil {
		into.below = map[string]*shape{}
	}
	below := &shape{}
	into.below[key] = below
	into.keys = append(into.keys, key)
	return below, nil
}

func (d *shaper) array(into *shape, depth int) error {
	into.arrays++
	if into.element == nil {
		into.element = &shape{}
	}
	n := 0
	for d.More() {
		if err := d.value(into.element, depth+1); err != nil {
			into.long(n + 1)
			return err
		}
		n++
	}
	into.long(n)
	_, err := d.Token()
	return err
}

func (s *shape) long(n int) {
	if s.arrays == 1 {
		s.shortest, s.longest = n, n
	}
	s.shortest, s.longest = min(s.shortest, n), max(s.longest, n)
}

func (s *shape) number(n json.Number) {
	v, _ := n.Float64()
	if s.numbers == 0 {
		s.least, s.most = v, v
	}
	s.numbers++
	s.least, s.most = min(s.least, v), max(s.most, v)
	if _, err := strconv.ParseInt(string(n), 10, 64); err != nil {
		s.fractions = true
	}
}

func (s *shape) text(text string) {
	s.texts++
	if len(s.examples) >= 3 {
		return
	}
	short := clean(text, mostOfCell)
	for _, e := range s.examples {
		if e == short {
			return
		}
	}
	s.examples = append(s.examples, short)
}

// describe says in a line what the values are.
func (s *shape) describe() string {
	var kinds []string
	add := func(n int, words string) {
		if n > 0 {
			kinds = append(kinds, words)
		}
	}
	add(s.objects, "object")
	if s.arrays > 0 {
		length := count(int64(s.longest), "element")
		if s.shortest != s.longest {
			length = fmt.Sprintf("%d to %s", s.shortest, length)
		}
		words := "array of " + length
		if of := s.element.describe(); of != "nothing" {
			words += ", each " + of
		}
		kinds = append(kinds, words)
	}
	numbers := "integer"
	if s.fractions {
		numbers = "number"
	}
	if s.numbers > 0 {
		numbers += ", " + number(s.least)
		if s.most != s.least {
			numbers += " to " + number(s.most)
		}
	}
	add(s.numbers, numbers)
	add(s.booleans, "boolean")
	if s.texts > 0 {
		kinds = append(kinds, "text, such as "+quotedList(s.examples, 2))
	}
	add(s.nulls, "null")
	if len(kinds) == 0 {
		return "nothing"
	}
	return strings.Join(kinds, " or ")
}

// members are the keys that a reader would see below the value: its own, or those of
// its elements.
func (s *shape) members() *shape {
	for s != nil && len(s.keys) == 0 {
		s = s.element
	}
	return s
}

// lines list the keys and theirs.
func (s *shape) lines(level int) []string {
	s = s.members()
	if s == nil {
		return nil
	}
	indent := strings.Repeat("  ", level)
	var lines []string
	for i, key := range s.keys {
		if i == shownKeys {
			break
		}
		below := s.below[key]
		words := below.describe()
		seen := below.nulls + below.booleans + below.numbers + below.texts + below.objects + below.arrays
		if seen < s.objects {
			words += fmt.Sprintf(" (in %s of them)", share(seen, s.objects))
		}
		lines = append(lines, fmt.Sprintf("%s- %s: %s", indent, named(key), words))
		if level < shownLevel {
			lines = append(lines, below.lines(level+1)...)
		}
	}
	if left := len(s.keys) - shownKeys; left > 0 || len(s.otherKeys) > 0 {
		words := count(int64(max(0, left)+len(s.otherKeys)), "more key")
		if len(s.otherKeys) >= mostDistinct {
			words = "more than " + words
		}
		lines = append(lines, indent+"- … "+words)
	}
	return lines
}

// names lists the keys in one line.
func (s *shape) names() string {
	s = s.members()
	if s == nil {
		return ""
	}
	var names []string
	for i, key := range s.keys {
		if i == shownKeys {
			names = append(names, fmt.Sprintf("… %s", count(int64(len(s.keys)-i+len(s.otherKeys)), "more key")))
			break
		}
		names = append(names, named(key))
	}
	return "Keys: " + strings.Join(names, ", ")
}
