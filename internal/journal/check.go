package journal

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// Check says whether a journal can be written at path, and how large it is with its
// files, in bytes. It changes nothing in it, and makes none.
func Check(path string) (size int64, err error) {
	path, err = filepath.Abs(path)
	if err != nil {
		return 0, err
	}
	directory := filepath.Dir(path)
	for { // a server would make what is missing
		if _, err := os.Stat(directory); !errors.Is(err, fs.ErrNotExist) || directory == filepath.Dir(directory) {
			break
		}
		directory = filepath.Dir(directory)
	}
	if err := checkFilesystem(directory); err != nil {
		return 0, err
	}
	try, err := os.CreateTemp(directory, "try-*") // the log is made beside the file
	if err != nil {
		return 0, fmt.Errorf("writing beside the journal: %w", err)
	}
	if err := errors.Join(try.Close(), os.Remove(try.Name())); err != nil {
		return 0, err
	}
	file, err := os.OpenFile(path, os.O_RDWR, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return 0, nil
	}
	if err != nil {
		return 0, fmt.Errorf("opening the journal: %w", err)
	}
	_ = file.Close() // nothing was written
	if fileSize(path) > 0 {
		r, err := tryToRead(path, "mode=ro")
		if older := new(olderError); err != nil && !errors.As(err, &older) {
			return 0, err
		}
		if err == nil {
			_ = r.Close() // it was only tried
		}
	}
	files, err := sizeOf(filesOf(path))
	return fileSize(path) + fileSize(path+"-wal") + files, err
}
