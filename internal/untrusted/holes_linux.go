package untrusted

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// written returns the next part of a file, from at on, that is not a hole; from size to
// size if there is none. Where the file system can't tell it is all of the rest.
func written(file *os.File, at, size int64) (begin, end int64) {
	begin, err := file.Seek(at, unix.SEEK_DATA)
	switch {
	case errors.Is(err, unix.ENXIO):
		return size, size
	case err != nil:
		return at, size
	}
	end, err = file.Seek(begin, unix.SEEK_HOLE)
	if err != nil || end > size {
		end = size
	}
	return min(begin, size), end
}
