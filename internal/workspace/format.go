package workspace

import "strings"

// format is what the name of an archive says of it. Names decide, not contents:
// spreadsheets, models and packages are zip files too.
type format struct {
	kind string // "" for what is no archive
	stem string // the name without the ending
}

// The kinds of archives.
const (
	kindZip    = "zip"
	kindTar    = "tar"
	kindTarGz  = "tar.gz"
	kindTarBz2 = "tar.bz2"
	// kindOther are archives that can't be unpacked here.
	kindOther = "other"
)

var endings = []struct{ ending, kind string }{
	{".zip", kindZip},
	{".tar", kindTar},
	{".tar.gz", kindTarGz}, {".tgz", kindTarGz},
	{".tar.bz2", kindTarBz2}, {".tbz2", kindTarBz2}, {".tbz", kindTarBz2},
	{".tar.xz", kindOther}, {".txz", kindOther}, {".tar.zst", kindOther}, {".tzst", kindOther},
	{".7z", kindOther}, {".rar", kindOther},
}

// formatOf reads the format from a name.
func formatOf(name string) format {
	lower := strings.ToLower(name)
	for _, e := range endings {
		if len(lower) > len(e.ending) && strings.HasSuffix(lower, e.ending) {
			stem := name[:len(name)-len(e.ending)]
			if stem == "." || stem == ".." || isLitter(stem) {
				return format{}
			}
			return format{e.kind, stem}
		}
	}
	return format{}
}

// unpacked reports whether it is an archive that is unpacked.
func (f format) unpacked() bool { return f.kind != "" && f.kind != kindOther }
