package preview

import (
	"fmt"
	"path"
	"slices"
	"sort"
	"strings"
)

const (
	manyFiles  = 30 // in a directory; of more, fewer are shown
	shownFew   = 4
	shownUsual = 8
	shownDepth = 5
	mostLines  = 100 // of the tree
	fewLines   = 50  // of the tree in the simple form
)

// shown picks the files of a directory that are named: one of each of the first
// kinds, then the rest of them, data first, and in the order of their names.
func (f *folder) shown() []*entry {
	most := shownUsual
	if len(f.files) > manyFiles {
		most = shownFew
	}
	if len(f.files) <= most {
		return f.files
	}
	byKind := map[string][]int{}
	for i, e := range f.files {
		kind := extension(e.name)
		byKind[kind] = append(byKind[kind], i)
	}
	kinds := make([]string, 0, len(byKind))
	for kind := range byKind {
		kinds = append(kinds, kind)
	}
	sort.Slice(kinds, func(i, j int) bool {
		if a, b := rank(kinds[i]), rank(kinds[j]); a != b {
			return a < b
		}
		return kinds[i] < kinds[j]
	})
	var picked []int
	for _, kind := range kinds[:min(len(kinds), most/2)] {
		picked = append(picked, byKind[kind][0])
	}
	for _, kind := range kinds {
		rest := byKind[kind]
		if slices.Contains(picked, rest[0]) {
			rest = rest[1:]
		}
		picked = append(picked, rest[:min(len(rest), most-len(picked))]...)
	}
	sort.Ints(picked)
	files := make([]*entry, len(picked))
	for i, n := range picked {
		files[i] = f.files[n]
	}
	return files
}

// shownFolders are the first ones.
func (f *folder) shownFolders() []*folder {
	most := shownUsual
	if len(f.folders) > manyFiles {
		most = shownFew
	}
	return f.folders[:min(most, len(f.folders))]
}

// extension is the end of a file's name in lower case, that of the content where
// it is compressed: ".csv" of "a.csv.gz".
func extension(name string) string {
	name = strings.ToLower(name)
	end := path.Ext(name)
	if end == ".gz" || end == ".bz2" {
		if inner := path.Ext(strings.TrimSuffix(name, end)); inner != "" && len(inner) <= 8 {
			return inner + end
		}
	}
	return end
}

// tree writes the tree in at most so many lines.
func (f *folder) tree(name string, most int) []string {
	lines := f.lines(name, 0, "")
	if left := len(lines) - most; left > 0 {
		lines = append(lines[:most:most], fmt.Sprintf("… and %s of this list", count(int64(left), "more line")))
	}
	return lines
}

func (f *folder) lines(name string, depth int, indent string) []string {
	if f.note != "" {
		return []string{fmt.Sprintf("%s%s/ (%s)", indent, name, f.note)}
	}
	lines := []string{fmt.Sprintf("%s%s/ (%s)", indent, name, f.totals())}
	if depth >= shownDepth {
		return lines
	}
	indent += "  "
	files, folders := f.shown(), f.shownFolders()
	for _, e := range files {
		lines = append(lines, indent+e.line())
	}
	if left := f.others(files); left != "" {
		lines = append(lines, indent+left)
	}
	for _, below := range folders {
		lines = append(lines, below.lines(clean(below.name, mostOfName), depth+1, indent)...)
	}
	if left := len(f.folders) - len(folders); left > 0 {
		var all, bytes int64
		for _, below := range f.folders[len(folders):] {
			all, bytes = all+int64(below.count), bytes+below.bytes
		}
		lines = append(lines, fmt.Sprintf("%s… and %s (%s, %s)", indent, otherOnes(left, "directory", "directories"), count(all, "file"), bytesInWords(bytes)))
	}
	return lines
}

func (f *folder) totals() string {
	words := count(int64(f.count), "file") + ", " + bytesInWords(f.bytes)
	switch {
	case f.unlisted:
		words = "more than " + words + ": not all was looked at"
	case f.count == 0 && len(f.folders) == 0:
		words = "empty"
	}
	return words
}

func (e *entry) line() string {
	if e.note != "" {
		return fmt.Sprintf("%s (%s: %s)", clean(e.name, mostOfName), bytesInWords(e.size), e.note)
	}
	return fmt.Sprintf("%s (%s)", clean(e.name, mostOfName), bytesInWords(e.size))
}

// others counts the files that are not shown.
func (f *folder) others(shown []*entry) string {
	left := len(f.files) - len(shown)
	if left == 0 {
		return ""
	}
	seen := map[*entry]bool{}
	for _, e := range shown {
		seen[e] = true
	}
	var bytes int64
	kinds := map[string]int{}
	for _, e := range f.files {
		if !seen[e] {
			bytes += e.size
			kinds[extension(e.name)]++
		}
	}
	words := fmt.Sprintf("… and %s", otherOnes(left, "file", "files"))
	if len(kinds) > 0 {
		words += ": " + countKinds(kinds)
	}
	return words + " (" + bytesInWords(bytes) + ")"
}

func otherOnes(n int, one, many string) string {
	if n == 1 {
		return "1 other " + one
	}
	return strings.Replace(count(int64(n), "x"), "xs", "other "+many, 1)
}

// countKinds lists the most frequent kinds of files.
func countKinds(kinds map[string]int) string {
	names := make([]string, 0, len(kinds))
	for name := range kinds {
		names = append(names, name)
	}
	sort.Slice(names, func(i, j int) bool {
		if kinds[names[i]] != kinds[names[j]] {
			return kinds[names[i]] > kinds[names[j]]
		}
		return names[i] < names[j]
	})
	var words []string
	for i, name := range names {
		if i == 4 {
			words = append(words, "…")
			break
		}
		word := clean(name, 12)
		if word == "" {
			word = "without extension"
		}
		words = append(words, fmt.Sprintf("%d %s", kinds[name], word))
	}
	return strings.Join(words, ", ")
}
