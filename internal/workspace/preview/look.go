package preview

import (
	"errors"
	"fmt"
	"path"
	"runtime/debug"
)

// mostSections is how many files are described.
const mostSections = 40

// A reader describes a file of its kind.
type reader func(s *source, e *entry) (section, error)

// errNothing is for files of which there is nothing to say.
var errNothing = errors.New("nothing to say")

// kinds says by the ends of names who reads what. Lower ranks are shown first.
var kinds = map[string]struct {
	rank int
	read reader
}{
	".csv": {0, readTable}, ".tsv": {0, readTable}, ".tab": {0, readTable}, ".psv": {0, readTable},
	".csv.gz": {0, readTable}, ".tsv.gz": {0, readTable}, ".csv.bz2": {0, readTable}, ".tsv.bz2": {0, readTable},
	".parquet": {0, readParquet}, ".pq": {0, readParquet},
	".xlsx": {0, readExcel}, ".xlsm": {0, readExcel},
	".json": {1, readJSON}, ".geojson": {1, readJSON}, ".json.gz": {1, readJSON},
	".jsonl": {1, readJSONLines}, ".ndjson": {1, readJSONLines}, ".jsonl.gz": {1, readJSONLines}, ".ndjson.gz": {1, readJSONLines},
	".npy": {1, readNPY}, ".npz": {1, readNPZ},
	".md": {2, readText}, ".txt": {2, readTextOrTable}, ".dat": {1, readTextOrTable}, ".data": {1, readTextOrTable}, ".names": {2, readText},
	".rst": {2, readText}, ".py": {2, readText}, ".yaml": {2, readText}, ".yml": {2, readText}, ".toml": {2, readText},
	".ini": {2, readText}, ".cfg": {2, readText}, ".r": {2, readText}, ".sql": {2, readText}, "": {3, readText},
}

// rank is where a kind of file stands when not all can be shown.
func rank(extension string) int {
	if kind, known := kinds[extension]; known {
		return kind.rank
	}
	return 4
}

// look describes the files that the tree shows.
func look(b *budget, p *place, top *folder) []section {
	l := &looker{budget: b, place: p}
	l.folder(top, 0)
	return l.sections
}

type looker struct {
	*budget
	place    *place
	sections []section
}

func (l *looker) folder(f *folder, depth int) {
	if depth >= shownDepth {
		return
	}
	forms := map[string]string{} // the paths of those described, by form
	for _, e := range f.shown() {
		kind, known := kinds[extension(e.name)]
		if !known || e.note != "" {
			continue
		}
		if e.size == 0 {
			e.note = "empty"
			continue
		}
		if len(l.sections) >= mostSections {
			e.note = "not looked into: enough is described"
			continue
		}
		s, err := l.file(e, kind.read)
		if err != nil {
			if !errors.Is(err, errNothing) {
				e.note = inWords(err)
			}
			continue
		}
		s.path = e.path
		if twin := forms[s.form]; s.form != "" && twin != "" {
			s.full = []string{"The same columns as " + clean(path.Base(twin), mostOfName) + "."}
			s.simple = s.full[0]
		} else {
			forms[s.form] = e.path
		}
		l.sections = append(l.sections, s)
	}
	l.pictures(f)
	for _, below := range f.shownFolders() {
		l.folder(below, depth+1)
	}
}

// file describes one file. A fault of a reader costs that file's description.
func (l *looker) file(e *entry, read reader) (s section, err error) {
	if err := l.check(); err != nil {
		return section{}, err
	}
	f, info, err := l.place.openRegular(e.path)
	if err != nil {
		return section{}, err
	}
	defer f.Close()
	defer func() {
		if cause := recover(); cause != nil {
			err = fmt.Errorf("can't be described: %.80v", cause)
			if panicked != nil {
				panicked(cause, debug.Stack())
			}
		}
	}()
	source := l.source(f, info)
	s, err = read(source, e)
	if err == nil && source.changed() {
		s.head += "; it changed while it was read"
	}
	return s, err
}

// panicked is for tests, which want to know of faults that are held back here.
var panicked func(cause any, stack []byte)
