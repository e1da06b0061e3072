package main

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/flate"
	"compress/gzip"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// file is one in an archive.
type file struct {
	name string // with slashes
	mode fs.FileMode
	text []byte
}

// read returns files by their last names.
func read(paths ...string) ([]file, error) {
	files := make([]file, 0, len(paths))
	for _, path := range paths {
		text, err := os.ReadFile(path)
		if err != nil {
			return nil, err
		}
		files = append(files, file{filepath.Base(path), 0o644, text})
	}
	return files, nil
}

// within puts files into one directory, so that unpacking them strews nothing about.
func within(directory string, files []file) []file {
	for i := range files {
		files[i].name = directory + "/" + files[i].name
	}
	return files
}

// pack writes an archive of files that all have one time.
type pack func(w io.Writer, files []file, when time.Time) error

// packer returns how the archive of a program is packed: as its platform can unpack it.
func packer(program string) (suffix string, how pack) {
	if strings.HasSuffix(program, ".exe") {
		return ".zip", packZip
	}
	return ".tar.gz", packTar
}

// write packs files into a new one below the distribution, and returns it.
func (d distribution) write(name string, how pack, files []file) ([]byte, error) {
	var packed bytes.Buffer
	if err := how(&packed, files, d.when); err != nil {
		return nil, err
	}
	return packed.Bytes(), os.WriteFile(filepath.Join(d.out, name), packed.Bytes(), 0o644)
}

func packTar(w io.Writer, files []file, when time.Time) error {
	compressed, err := gzip.NewWriterLevel(w, gzip.BestCompression)
	if err != nil {
		return err
	}
	archive := tar.NewWriter(compressed)
	for _, f := range files {
		header := tar.Header{Name: f.name, Mode: int64(f.mode), Size: int64(len(f.text)), ModTime: when}
		if err := archive.WriteHeader(&header); err != nil {
			return err
		}
		if _, err := archive.Write(f.text); err != nil {
			return err
		}
	}
	if err := archive.Close(); err != nil {
		return err
	}
	return compressed.Close()
}

func packZip(w io.Writer, files []file, when time.Time) error {
	archive := zip.NewWriter(w)
	archive.RegisterCompressor(zip.Deflate, func(w io.Writer) (io.WriteCloser, error) {
		return flate.NewWriter(w, flate.BestCompression)
	})
	for _, f := range files {
		header := zip.FileHeader{Name: f.name, Method: zip.Deflate, Modified: when}
		header.SetMode(f.mode)
		entry, err := archive.CreateHeader(&header)
		if err != nil {
			return err
		}
		if _, err := entry.Write(f.text); err != nil {
			return err
		}
	}
	return archive.Close()
}
