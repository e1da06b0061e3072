package preview

import (
	"fmt"
	"image"
	_ "image/gif"  // to be decoded
	_ "image/jpeg" // to be decoded
	_ "image/png"  // to be decoded
	"io"
	"path"
	"sort"

	_ "golang.org/x/image/bmp"  // to be decoded
	_ "golang.org/x/image/webp" // to be decoded
)

const (
	lookedAtPictures = 24        // of a directory
	pictureHeader    = 256 << 10 // bytes in which the dimensions must be
	shownSizes       = 4
)

var pictureKinds = map[string]bool{".png": true, ".jpg": true, ".jpeg": true, ".gif": true, ".bmp": true, ".webp": true}

// pictures describes the pictures of a directory together, by the dimensions of some
// at even distances.
func (l *looker) pictures(f *folder) {
	var all []*entry
	kinds := map[string]int{}
	for _, e := range f.files {
		if kind := extension(e.name); pictureKinds[kind] && e.note == "" && e.size > 0 {
			all = append(all, e)
			kinds[kind]++
		}
	}
	if len(all) == 0 || len(l.sections) >= mostSections {
		return
	}
	n := min(lookedAtPictures, len(all))
	sizes := map[string]int{}
	unread := 0
	for i := range n {
		s, err := l.file(all[i*len(all)/n], readPicture)
		if err != nil {
			unread++
			continue
		}
		sizes[s.head]++
	}
	s := section{path: path.Join(f.path, "*"), head: "Pictures: " + countKinds(kinds)}
	if f.path == "." {
		s.path = "*"
	}
	if n < len(all) {
		s.head += fmt.Sprintf("; of %d that were looked at", n)
	}
	s.head += sizesInWords(sizes, len(all) == 1)
	if unread > 0 {
		s.head += fmt.Sprintf("; %d can't be read", unread)
	}
	l.sections = append(l.sections, s)
}

func sizesInWords(sizes map[string]int, single bool) string {
	names := make([]string, 0, len(sizes))
	for name := range sizes {
		names = append(names, name)
	}
	sort.Slice(names, func(i, j int) bool {
		if sizes[names[i]] != sizes[names[j]] {
			return sizes[names[i]] > sizes[names[j]]
		}
		return names[i] < names[j]
	})
	words := ""
	for i, name := range names {
		if i == shownSizes {
			return words + fmt.Sprintf(", … %s", count(int64(len(names)-i), "other size"))
		}
		if i == 0 {
			words += ": "
		} else {
			words += ", "
		}
		words += name
		if !single {
			words += fmt.Sprintf(" (%d)", sizes[name])
		}
	}
	return words
}

// readPicture returns the dimensions as the head.
func readPicture(s *source, _ *entry) (section, error) {
	config, _, err := image.DecodeConfig(io.LimitReader(io.NewSectionReader(s, 0, s.size()), pictureHeader))
	if err != nil {
		return section{}, err
	}
	return section{head: fmt.Sprintf("%d×%d", config.Width, config.Height)}, nil
}
