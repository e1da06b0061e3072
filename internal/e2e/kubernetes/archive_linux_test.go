package kubernetes

import (
	"archive/tar"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"strings"
)

// layer is the file system of an image, as it is written. Everything belongs to root.
type layer struct{ to *tar.Writer }

func (l layer) directory(path string, mode int64) error {
	return l.to.WriteHeader(&tar.Header{Typeflag: tar.TypeDir, Name: path + "/", Mode: mode})
}

func (l layer) link(path, target string) error {
	return l.to.WriteHeader(&tar.Header{Typeflag: tar.TypeSymlink, Name: path, Linkname: target, Mode: 0o777})
}

func (l layer) text(path, content string) error {
	err := l.to.WriteHeader(&tar.Header{Typeflag: tar.TypeReg, Name: path, Size: int64(len(content)), Mode: 0o644})
	_, wrote := io.WriteString(l.to, content)
	return errors.Join(err, wrote)
}

// file copies a file of this machine.
func (l layer) file(path, source string) error {
	file, err := os.Open(source)
	if err != nil {
		return err
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return err
	}
	if err := l.to.WriteHeader(&tar.Header{Typeflag: tar.TypeReg, Name: path, Size: info.Size(), Mode: int64(info.Mode().Perm())}); err != nil {
		return err
	}
	_, err = io.Copy(l.to, file)
	return err
}

// tree copies a directory of this machine, but for what skip names.
func (l layer) tree(path, source string, skip func(inside string) bool) error {
	return filepath.WalkDir(source, func(from string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		inside, _ := filepath.Rel(source, from)
		to := filepath.Join(path, inside)
		switch {
		case skip(inside) && entry.IsDir():
			return filepath.SkipDir
		case skip(inside):
			return nil
		case entry.IsDir():
			return l.directory(to, 0o755)
		case entry.Type() == fs.ModeSymlink:
			target, err := os.Readlink(from)
			return errors.Join(err, l.link(to, target))
		default:
			return l.file(to, from)
		}
	})
}

// digest names a content, as registries do.
func digest(sum []byte) string { return fmt.Sprintf("sha256:%x", sum) }

// descriptor says in an image where a part of it is.
type descriptor struct {
	MediaType   string            `json:"mediaType"`
	Digest      string            `json:"digest"`
	Size        int64             `json:"size"`
	Annotations map[string]string `json:"annotations,omitempty"`
}

// settings are what an image says of its processes.
type settings struct {
	Entrypoint []string `json:",omitempty"`
	Env        []string `json:",omitempty"`
	User       string   `json:",omitempty"`
	WorkingDir string   `json:",omitempty"`
}

// writeImage writes an image of one layer, which is in a file, as an archive in the
// layout of the Open Container Initiative.
func writeImage(to io.Writer, name string, content io.ReaderAt, settings settings) error {
	sum := sha256.New()
	size, err := io.Copy(sum, io.NewSectionReader(content, 0, math.MaxInt64))
	if err != nil {
		return err
	}
	archive := tar.NewWriter(to)
	layer := descriptor{"application/vnd.oci.image.layer.v1.tar", digest(sum.Sum(nil)), size, nil}
	if err := writeBlob(archive, layer, io.NewSectionReader(content, 0, size)); err != nil {
		return err
	}
	config, err := writeJSON(archive, "application/vnd.oci.image.config.v1+json", map[string]any{
		"architecture": architecture, "os": "linux", "config": settings,
		"rootfs": map[string]any{"type": "layers", "diff_ids": []string{layer.Digest}},
	})
	if err != nil {
		return err
	}
	const manifestType = "application/vnd.oci.image.manifest.v1+json"
	manifest, err := writeJSON(archive, manifestType, map[string]any{
		"schemaVersion": 2, "mediaType": manifestType, "config": config, "layers": []descriptor{layer},
	})
	if err != nil {
		return err
	}
	manifest.Annotations = map[string]string{"io.containerd.image.name": name, "org.opencontainers.image.ref.name": name}
	index, err := json.Marshal(map[string]any{"schemaVersion": 2, "manifests": []descriptor{manifest}})
	return errors.Join(err,
		writeEntry(archive, "index.json", int64(len(index)), strings.NewReader(string(index))),
		writeEntry(archive, "oci-layout", int64(len(layoutVersion)), strings.NewReader(layoutVersion)),
		archive.Close())
}

const layoutVersion = `{"imageLayoutVersion": "1.0.0"}`

func writeJSON(archive *tar.Writer, kind string, value any) (descriptor, error) {
	text, err := json.Marshal(value)
	if err != nil {
		return descriptor{}, err
	}
	sum := sha256.Sum256(text)
	d := descriptor{kind, digest(sum[:]), int64(len(text)), nil}
	return d, writeBlob(archive, d, strings.NewReader(string(text)))
}

func writeBlob(archive *tar.Writer, d descriptor, content io.Reader) error {
	return writeEntry(archive, "blobs/"+strings.Replace(d.Digest, ":", "/", 1), d.Size, content)
}

func writeEntry(archive *tar.Writer, name string, size int64, content io.Reader) error {
	if err := archive.WriteHeader(&tar.Header{Typeflag: tar.TypeReg, Name: name, Size: size, Mode: 0o644}); err != nil {
		return err
	}
	_, err := io.Copy(archive, content)
	return err
}
