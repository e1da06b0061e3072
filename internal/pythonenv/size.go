package pythonenv

import (
	"io/fs"
	"path/filepath"
	"strings"
)

// Size is how large an environment is.
type Size struct {
	Packages int    // with those that others need, and pip; some of these have copies of others inside
	Bytes    uint64 // of its files; with uv they may share their place with its cache
}

// Size measures the environment.
func (p *Prepared) Size() (Size, error) {
	var size Size
	err := filepath.WalkDir(p.Directory, func(path string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir():
			if strings.HasSuffix(path, ".dist-info") && filepath.Base(filepath.Dir(path)) == "site-packages" {
				size.Packages++
			}
		case entry.Type().IsRegular():
			info, err := entry.Info()
			if err != nil {
				return err
			}
			size.Bytes += uint64(info.Size())
		}
		return nil
	})
	return size, err
}
