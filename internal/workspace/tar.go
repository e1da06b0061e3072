package workspace

import (
	"archive/tar"
	"bufio"
	"compress/bzip2"
	"compress/gzip"
	"errors"
	"io"
	"path"
)

// tar unpacks a tar file, compressed or not.
func (u *unpacking) tar() error {
	stream, err := u.decompressed()
	if err != nil {
		return tarError(err)
	}
	reader := tar.NewReader(stream)
	for {
		header, err := reader.Next()
		if errors.Is(err, io.EOF) {
			return u.drain(stream)
		}
		if err != nil && !errors.Is(err, tar.ErrInsecurePath) {
			return tarError(err)
		}
		if err := errors.Join(u.ctx.Err(), u.meter.entry()); err != nil {
			return err
		}
		if err := u.tarEntry(reader, header); err != nil {
			return u.at(header.Name, tarError(err))
		}
	}
}

// decompressed is what the tar file holds, checked by the limit on its ratio: an
// entry may be left out, or a list of attributes, and be a bomb all the same.
func (u *unpacking) decompressed() (io.Reader, error) {
	stream := bufio.NewReaderSize(u.file.stream(), 256<<10)
	switch u.format.kind {
	case kindTarGz:
		reader, err := gzip.NewReader(stream)
		return &inflated{reader, u.meter, 0}, err
	case kindTarBz2:
		return &inflated{bzip2.NewReader(stream), u.meter, 0}, nil
	}
	return stream, nil
}

type inflated struct {
	io.Reader
	meter *outermost
	n     int64
}

func (i *inflated) Read(into []byte) (int, error) {
	n, err := i.Reader.Read(into)
	i.n += int64(n)
	if over := i.meter.checkRatio(i.n); over != nil {
		return 0, over
	}
	return n, err
}

// drain reads what follows the last entry: the checksum is at the end. What is
// behind it is nobody's.
func (u *unpacking) drain(stream io.Reader) error {
	_, err := io.Copy(io.Discard, stream)
	if errors.Is(err, gzip.ErrHeader) {
		return nil
	}
	return tarError(err)
}

func (u *unpacking) tarEntry(reader io.Reader, header *tar.Header) error {
	if header.Typeflag == tar.TypeXGlobalHeader {
		return nil
	}
	name, err := entryName(header.Name)
	if err != nil || hasLitter(name) {
		return err
	}
	switch header.Typeflag {
	case tar.TypeDir:
		return u.directory(name)
	case tar.TypeReg, tar.TypeGNUSparse:
		if name == "." {
			return errors.New("it has no name")
		}
		if err := u.meter.claim(uint64(max(0, header.Size))); err != nil {
			return err
		}
		return u.put(name, header.FileInfo().Mode(), header.ModTime, reader)
	case tar.TypeSymlink:
		return u.addLink(name, header.Linkname)
	case tar.TypeLink:
		return u.hardLink(name, header.Linkname)
	case tar.TypeChar, tar.TypeBlock, tar.TypeFifo:
		u.note("%s: %q is %s and was left out", u.archive, clip(name), kindOf(header.FileInfo().Mode()))
	default:
		u.note("%s: %q is of an unknown kind (%q) and was left out", u.archive, clip(name), header.Typeflag)
	}
	return nil
}

// hardLink gives a file that was unpacked a second name.
func (u *unpacking) hardLink(name, target string) error {
	old, err := entryName(target)
	if err != nil {
		u.note("%s: %q is a link out of the archive, to %q, and was left out", u.archive, clip(name), clip(target))
		return nil
	}
	if info, err := u.into.Lstat(old); err != nil || !info.Mode().IsRegular() {
		u.note("%s: %q is a link to %q, which is not there, and was left out", u.archive, clip(name), clip(target))
		return nil
	}
	if err := u.directory(path.Dir(name)); err != nil {
		return err
	}
	if err := u.into.Link(old, name); err != nil {
		return plain(err)
	}
	u.made.Files++
	return nil
}

// tarError says in words what the readers found.
func tarError(err error) error {
	var corrupt bzip2.StructuralError
	switch {
	case errors.Is(err, tar.ErrHeader):
		return errors.New("it is no tar file, or it is damaged")
	case errors.Is(err, gzip.ErrHeader), errors.Is(err, gzip.ErrChecksum):
		return errors.New("it is not compressed with gzip, or it is damaged")
	case errors.As(err, &corrupt):
		return errors.New("it is not compressed with bzip2, or it is damaged")
	case errors.Is(err, io.EOF):
		return errors.New("the archive is cut off or damaged here")
	}
	return plain(err)
}
