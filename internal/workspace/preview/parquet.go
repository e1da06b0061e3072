package preview

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"strings"
	"time"
)

// parquetFile is what a footer says of a file.
type parquetFile struct {
	rows, groups int64
	leaves       []*parquetColumn
	byPath       map[string]*parquetColumn
}

// parquetColumn is a column of which values are stored. A nested one has the path
// of its fields, joined by dots.
type parquetColumn struct {
	path               string
	physical           int64 // the constants parquet…; -1 for a group
	logical            string
	unit               time.Duration // of a timestamp, which is a number of them
	scale              int64
	nulls              int64
	unknown            bool // a row group has no count of nulls
	ranged, unranged   bool // some row groups have a range, others don't
	least, most        float64
	leastText, maxText string
	children           int64
}

// Physical types that have a meaning of their own here.
const (
	parquetBoolean = 0
	parquetInt32   = 1
	parquetInt64   = 2
	parquetInt96   = 3
	parquetFloat   = 4
	parquetDouble  = 5
	parquetBytes   = 6
	parquetFixed   = 7
)

// readParquet describes a Parquet file from its footer; no data is read.
func readParquet(s *source, _ *entry) (section, error) {
	end, err := s.block(max(0, s.size()-8), 8)
	if err != nil {
		return section{}, err
	}
	if len(end) == 8 && string(end[4:]) == "PARE" {
		return section{}, errors.New("encrypted")
	}
	if len(end) < 8 || string(end[4:]) != "PAR1" {
		return section{}, errors.New("not a Parquet file, or not a whole one")
	}
	length := int64(binary.LittleEndian.Uint32(end))
	if length > s.size()-8 {
		return section{}, errThrift
	}
	if length > min(s.left, s.budget.left) {
		return section{}, fmt.Errorf("not looked into: its footer has %s", bytesInWords(length))
	}
	footer, err := s.block(s.size()-8-length, length)
	if err != nil {
		return section{}, err
	}
	f, err := parseFooter(footer)
	if err != nil {
		return section{}, err
	}
	return f.section(), nil
}

// parseFooter reads the struct FileMetaData.
func parseFooter(footer []byte) (*parquetFile, error) {
	t := &thrift{bytes: footer}
	f := &parquetFile{byPath: map[string]*parquetColumn{}}
	var schema []*parquetColumn
	err := t.fields(func(id int, kind byte) (bool, error) {
		var err error
		switch {
		case id == 2 && kind == thriftList:
			err = t.list(thriftStruct, func() error {
				c, err := t.schemaElement()
				schema = append(schema, c)
				return err
			})
			if err == nil {
				err = f.plant(schema)
			}
		case id == 3 && kind == thriftI64:
			f.rows, err = t.varint()
		case id == 4 && kind == thriftList:
			err = t.list(thriftStruct, func() error { f.groups++; return f.rowGroup(t) })
		default:
			return false, nil
		}
		return true, err
	})
	if err != nil {
		return nil, err
	}
	if f.rows < 0 || len(schema) == 0 {
		return nil, errThrift
	}
	return f, nil
}

func (t *thrift) schemaElement() (*parquetColumn, error) {
	c := &parquetColumn{physical: -1}
	err := t.fields(func(id int, kind byte) (bool, error) {
		var err error
		var v int64
		switch {
		case id == 1 && kind == thriftI32:
			c.physical, err = t.varint()
		case id == 4 && kind == thriftBinary:
			var name []byte
			name, err = t.binary()
			c.path = strings.ToValidUTF8(string(name), "\uFFFD")
		case id == 5 && kind == thriftI32:
			c.children, err = t.varint()
		case id == 6 && kind == thriftI32:
			v, err = t.varint()
			c.converted(v)
		case id == 7 && kind == thriftI32:
			c.scale, err = t.varint()
		case id == 10 && kind == thriftStruct:
			err = c.logicalType(t)
		default:
			return false, nil
		}
		return true, err
	})
	return c, err
}

// converted takes the older form of a logical type.
func (c *parquetColumn) converted(v int64) {
	if c.logical != "" {
		return
	}
	switch v {
	case 0, 4, 19:
		c.logical = map[int64]string{0: "text", 4: "text (enum)", 19: "JSON"}[v]
	case 5:
		c.logical = "decimal"
	case 6:
		c.logical = "date"
	case 7, 8:
		c.logical = "time of day"
	case 9:
		c.logical, c.unit = "timestamp", time.Millisecond
	case 10:
		c.logical, c.unit = "timestamp", time.Microsecond
	}
}

// logicalType reads the union LogicalType.
func (c *parquetColumn) logicalType(t *thrift) error {
	names := map[int]string{1: "text", 4: "text (enum)", 5: "decimal", 6: "date", 7: "time of day", 8: "timestamp", 12: "JSON", 14: "UUID", 15: "float16"}
	return t.fields(func(id int, kind byte) (bool, error) {
		if name := names[id]; name != "" {
			c.logical = name
		}
		if id != 8 || kind != thriftStruct {
			return false, nil
		}
		return true, t.fields(func(id int, kind byte) (bool, error) {
			if id != 2 || kind != thriftStruct {
				return false, nil
			}
			return true, t.fields(func(id int, _ byte) (bool, error) {
				units := map[int]time.Duration{1: time.Millisecond, 2: time.Microsecond, 3: time.Nanosecond}
				c.unit = units[id]
				return false, nil
			})
		})
	})
}

// plant makes paths of the schema, which lists a tree from its root downward.
func (f *parquetFile) plant(schema []*parquetColumn) error {
	if len(schema) == 0 {
		return errThrift
	}
	type level struct {
		path string
		left int64
	}
	levels := []level{{left: schema[0].children}}
	for _, c := range schema[1:] {
		for len(levels) > 0 && levels[len(levels)-1].left <= 0 {
			levels = levels[:len(levels)-1]
		}
		if len(levels) == 0 || len(levels) > thriftDepth {
			return errThrift
		}
		up := &levels[len(levels)-1]
		up.left--
		if up.path != "" {
			c.path = up.path + "." + c.path
		}
		if c.children > 0 {
			levels = append(levels, level{c.path, c.children})
			continue
		}
		f.leaves = append(f.leaves, c)
		f.byPath[c.path] = c
	}
	return nil
}

// rowGroup takes the statistics of the columns' chunks.
func (f *parquetFile) rowGroup(t *thrift) error {
	return t.fields(func(id int, kind byte) (bool, error) {
		if id != 1 || kind != thriftList {
			return false, nil
		}
		return true, t.list(thriftStruct, func() error { return f.chunk(t) })
	})
}

func (f *parquetFile) chunk(t *thrift) error {
	return t.fields(func(id int, kind byte) (bool, error) {
		if id != 3 || kind != thriftStruct {
			return false, nil
		}
		var path []string
		var s parquetStatistics
		err := t.fields(func(id int, kind byte) (bool, error) {
			switch {
			case id == 3 && kind == thriftList:
				return true, t.list(thriftBinary, func() error {
					part, err := t.binary()
					path = append(path, strings.ToValidUTF8(string(part), "\uFFFD"))
					return err
				})
			case id == 12 && kind == thriftStruct:
				return true, s.read(t)
			}
			return false, nil
		})
		if c := f.byPath[strings.Join(path, ".")]; c != nil && err == nil {
			c.take(s)
		}
		return true, err
	})
}

// parquetStatistics are those of one chunk of a column.
type parquetStatistics struct {
	nulls       int64
	counted     bool
	least, most []byte
}

func (s *parquetStatistics) read(t *thrift) error {
	return t.fields(func(id int, kind byte) (bool, error) {
		var err error
		switch {
		case id == 3 && kind == thriftI64:
			s.nulls, err = t.varint()
			s.counted = s.nulls >= 0
		case id == 5 && kind == thriftBinary:
			s.most, err = t.binary()
		case id == 6 && kind == thriftBinary:
			s.least, err = t.binary()
		default: // 1 and 2 are ranges of an order that was not defined
			return false, nil
		}
		return true, err
	})
}

func (c *parquetColumn) take(s parquetStatistics) {
	if s.counted {
		c.nulls += s.nulls
	} else {
		c.unknown = true
	}
	if c.physical == parquetBytes && strings.HasPrefix(c.logical, "text") && s.least != nil && s.most != nil {
		least, most := string(s.least), string(s.most)
		if !c.ranged || least < c.leastText {
			c.leastText = least
		}
		if !c.ranged || most > c.maxText {
			c.maxText = most
		}
		c.ranged = true
		return
	}
	least, known := c.value(s.least)
	most, also := c.value(s.most)
	if !known || !also {
		c.unranged = true
		return
	}
	if !c.ranged {
		c.least, c.most = least, most
	}
	c.ranged = true
	c.least, c.most = min(c.least, least), max(c.most, most)
}

// value reads a bound of a range.
func (c *parquetColumn) value(raw []byte) (float64, bool) {
	switch {
	case c.physical == parquetInt32 && len(raw) == 4:
		return float64(int32(binary.LittleEndian.Uint32(raw))), true
	case c.physical == parquetInt64 && len(raw) == 8:
		return float64(int64(binary.LittleEndian.Uint64(raw))), true
	case c.physical == parquetFloat && len(raw) == 4:
		return float64(math.Float32frombits(binary.LittleEndian.Uint32(raw))), true
	case c.physical == parquetDouble && len(raw) == 8:
		return math.Float64frombits(binary.LittleEndian.Uint64(raw)), true
	}
	return 0, false
}

func (c *parquetColumn) kind() string {
	if c.logical != "" {
		return c.logical
	}
	switch c.physical {
	case parquetBoolean:
		return "boolean"
	case parquetInt32, parquetInt64:
		return "integer"
	case parquetInt96:
		return "timestamp"
	case parquetFloat, parquetDouble:
		return "number"
	case parquetBytes, parquetFixed:
		return "bytes"
	}
	return "group"
}

func (c *parquetColumn) describe(rows int64) string {
	words := c.kind()
	if c.ranged && !c.unranged {
		words += c.span()
	}
	if c.nulls > 0 && !c.unknown && !strings.Contains(c.path, ".") {
		words += fmt.Sprintf(", %d missing (%s)", c.nulls, share(int(c.nulls), int(rows)))
	}
	return words
}

func (c *parquetColumn) span() string {
	write := number
	switch {
	case strings.HasPrefix(c.logical, "text"):
		if c.leastText == c.maxText {
			return ", " + quoted(c.leastText)
		}
		return ", " + quoted(c.leastText) + " to " + quoted(c.maxText)
	case c.logical == "date":
		write = func(v float64) string { return inDays(v, 24*time.Hour, "2006-01-02") }
	case c.logical == "timestamp":
		write = func(v float64) string { return inDays(v, c.unit, "2006-01-02 15:04:05") }
	case c.logical == "decimal":
		write = func(v float64) string { return number(v / math.Pow(10, float64(max(0, min(c.scale, 38))))) }
	case c.logical != "" || math.IsNaN(c.least) || math.IsNaN(c.most):
		return ""
	}
	if c.least == c.most {
		return ", " + write(c.least)
	}
	return ", " + write(c.least) + " to " + write(c.most)
}

// inDays writes a number of units since 1970.
func inDays(v float64, unit time.Duration, layout string) string {
	seconds := v * unit.Seconds()
	if unit == 0 || math.Abs(seconds) > 3e11 {
		return number(v)
	}
	return time.Unix(int64(math.Floor(seconds)), 0).UTC().Format(layout)
}

func (f *parquetFile) section() section {
	width := len(f.leaves)
	s := section{head: fmt.Sprintf("Parquet: %s × %s, %s", count(f.rows, "row"), count(int64(width), "column"), count(f.groups, "row group"))}
	var names []string
	var form strings.Builder
	for i, c := range f.leaves {
		fmt.Fprintf(&form, "%s\x00%s\x00", c.path, c.kind())
		left := width - shownFirst - shownLast
		if left > 5 && i >= shownFirst && i < width-shownLast {
			if i == shownFirst {
				words := fmt.Sprintf("… %s between them", count(int64(left), "column"))
				s.full, names = append(s.full, words), append(names, words)
			}
			continue
		}
		s.full = append(s.full, "- "+named(c.path)+": "+c.describe(f.rows))
		names = append(names, named(c.path))
	}
	s.simple = "Columns: " + strings.Join(names, ", ")
	s.form = "parquet\x00" + form.String()
	return s
}
