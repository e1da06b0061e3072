package workspace

import (
	"archive/tar"
	"archive/zip"
	"bufio"
	"compress/bzip2"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"strings"
	"syscall"
	"unicode/utf8"

	"golang.org/x/text/encoding/charmap"
)

const (
	zipEncrypted = 1    // a bit of a header's flags
	linkLimit    = 4096 // bytes of a link's target, as systems have it
	// listRoom is what an entry may take in a zip file's list on average, with its name.
	listRoom = 128
)

// zip unpacks a zip file.
func (a *archive) zip() error {
	// The list of entries is read at once: without a limit a small program could
	// write one that takes all memory.
	a.file.budget = max(int64(a.meter.limits.Entries), 1000)*listRoom + 1<<20
	reader, err := zip.NewReader(a.file, a.file.size)
	a.file.budget = 0
	if err != nil && !errors.Is(err, zip.ErrInsecurePath) {
		return err
	}
	backslashes := !slices.ContainsFunc(reader.File, func(entry *zip.File) bool { return strings.Contains(entry.Name, "/") })
	for _, entry := range reader.File {
		m := member{name: zipName(entry, backslashes), mode: entry.Mode(), modified: entry.Modified, open: entry.Open}
		if entry.Flags&zipEncrypted != 0 {
			return fmt.Errorf("entry %q: it is protected with a password; unpack it yourself and give its directory as data", clip(m.name))
		}
		if m.mode&fs.ModeSymlink != 0 { // the target is its content
			if m.link, err = zipLink(entry); err != nil {
				return fmt.Errorf("entry %q: %w", clip(m.name), err)
			}
		}
		if err := a.add(m); err != nil {
			return err
		}
	}
	return nil
}

func zipLink(entry *zip.File) (string, error) {
	content, err := entry.Open()
	if err != nil {
		return "", err
	}
	target, err := io.ReadAll(io.LimitReader(content, linkLimit+1))
	return string(target), errors.Join(err, content.Close())
}

// zipName is the name of an entry. Those that are marked as no UTF-8, and aren't, are in
// the code page that the format began with; old programs write backslashes for slashes, in
// all of an archive.
func zipName(entry *zip.File, backslashes bool) string {
	name := entry.Name
	if decoded, err := charmap.CodePage437.NewDecoder().String(name); !utf8.ValidString(name) && err == nil {
		name = decoded
	}
	if backslashes {
		name = strings.ReplaceAll(name, `\`, "/")
	}
	return name
}

// tar unpacks a tar file, compressed or not.
func (a *archive) tar() error {
	stream, err := a.decompressed()
	if err != nil {
		return err
	}
	reader := tar.NewReader(stream)
	for {
		header, err := reader.Next()
		switch {
		case errors.Is(err, io.EOF):
			// The checksum is at the end, and what is behind it is nobody's.
			if _, err = io.Copy(io.Discard, stream); errors.Is(err, gzip.ErrHeader) {
				return nil
			}
			return err
		case err != nil && !errors.Is(err, tar.ErrInsecurePath):
			return err
		case header.Typeflag == tar.TypeXGlobalHeader:
			continue
		}
		m := member{
			name: header.Name, mode: header.FileInfo().Mode(), modified: header.ModTime, link: header.Linkname,
			open: func() (io.ReadCloser, error) { return io.NopCloser(reader), nil },
		}
		if header.Typeflag == tar.TypeLink {
			m.other = header.Linkname
		} else if !strings.ContainsRune("023456S", rune(header.Typeflag)) { // of a kind that few programs know
			m.mode = fs.ModeIrregular
		}
		if err := a.add(m); err != nil {
			return err
		}
	}
}

// decompressed is what the tar file holds, checked by the limit on its ratio: an
// entry may be left out, or a list of attributes, and be a bomb all the same.
func (a *archive) decompressed() (stream io.Reader, err error) {
	stream = bufio.NewReaderSize(io.NewSectionReader(a.file, 0, a.file.size), 256<<10)
	switch a.format.kind {
	case kindTarGz:
		stream, err = gzip.NewReader(stream)
	case kindTarBz2:
		stream = bzip2.NewReader(stream)
	}
	var out int64
	return &metered{stream, func(n int64) error {
		out += n
		return a.meter.checkRatio(out)
	}}, err
}

var errBudget = &limitError{"its list of entries is too long; unpack it yourself and give its directory as data"}

// inWords says in words what the errors of a file system and of a reader mean for
// an archive.
func inWords(err error, of format) error {
	var bzip2Error bzip2.StructuralError
	switch {
	case errors.Is(err, fs.ErrExist):
		return errors.New("the archive has two entries of this name")
	case errors.Is(err, syscall.ENOTDIR):
		return errors.New("what is a directory in its name is something else in the archive")
	case errors.Is(err, zip.ErrFormat), errors.Is(err, tar.ErrHeader), errors.Is(err, gzip.ErrHeader),
		errors.Is(err, gzip.ErrChecksum), errors.As(err, &bzip2Error):
		return fmt.Errorf("it is no %s file, or it is damaged", of.kind)
	case errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, io.EOF):
		return errors.New("the archive is cut off or damaged here")
	case errors.Is(err, zip.ErrAlgorithm):
		return errors.New("it is compressed in a way that can't be read here; unpack it yourself and give its directory as data")
	}
	return err
}

// readings is the file of an archive. What is read of it counts as done, and it
// can't be read any more once the context has ended.
type readings struct {
	ctx      context.Context //nolint:containedctx // it lives as long as one archive is unpacked
	file     *os.File
	size     int64
	progress *preparation // nil: it is no source
	counted  int64
	budget   int64 // if it is not 0, how many bytes may be read yet
}

// ReadAt reads as os.File does.
func (r *readings) ReadAt(into []byte, at int64) (int, error) {
	if err := r.ctx.Err(); err != nil {
		return 0, err
	}
	if r.budget > 0 {
		if r.budget -= int64(len(into)); r.budget <= 0 {
			r.budget = 1 // spent, and not without limit
			return 0, errBudget
		}
	}
	n, err := r.file.ReadAt(into, at)
	if r.progress != nil {
		step := min(int64(n), r.size-r.counted)
		r.counted += step
		r.progress.done.Add(step)
	}
	return n, err
}
