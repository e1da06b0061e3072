// Package library lays down the Python packages that workers run.
package library

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	matplotlibcapture "understudy/matplotlib_capture"
	"understudy/pyworker"
)

// Embedded are the Python packages that a worker needs, by name.
var Embedded = map[string]fs.FS{
	"pyworker":           pyworker.Files,
	"matplotlib_capture": matplotlibcapture.Files,
}

// Library is the Python packages as files on disk. Its directory's name holds
// the hash of its contents, so servers of different versions share a cache.
type Library struct {
	cache string // the directory that holds the library's
	files map[string][]byte
	name  string

	mu sync.Mutex // one extraction at a time within this server
}

// New reads the packages and does not touch the disk.
func New(cache string, packages map[string]fs.FS) (*Library, error) {
	l := &Library{cache: cache, files: map[string][]byte{}}
	for name, files := range packages {
		if err := l.add(name, files); err != nil {
			return nil, err
		}
	}
	hash := sha256.New()
	for _, name := range slices.Sorted(maps.Keys(l.files)) {
		fmt.Fprintf(hash, "%s %d\n", name, len(l.files[name]))
		hash.Write(l.files[name])
	}
	l.name = "lib-" + hex.EncodeToString(hash.Sum(nil))[:16]
	return l, nil
}

func (l *Library) add(name string, files fs.FS) error {
	return fs.WalkDir(files, ".", func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || !strings.HasSuffix(path, ".py") {
			return err
		}
		data, err := fs.ReadFile(files, path)
		if err != nil {
			return err
		}
		l.files[filepath.Join(name, filepath.FromSlash(path))] = data
		return nil
	})
}

// Lay sees to it that the library's directory is there, and looks at no file in it.
func (l *Library) Lay() error {
	if _, err := os.Stat(filepath.Join(l.cache, l.name)); err == nil {
		return nil
	}
	_, err := l.Ensure()
	return err
}

// Ensure returns the library's directory after making sure that it holds what
// it should: files that a cleaner has removed or somebody has changed are
// written again. Other servers may do the same at the same time.
func (l *Library) Ensure() (string, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	dir := filepath.Join(l.cache, l.name)
	for name, data := range l.files {
		path := filepath.Join(dir, name)
		if found, err := os.ReadFile(path); err == nil && bytes.Equal(found, data) {
			continue
		}
		if err := writeAtomically(path, data); err != nil {
			return "", fmt.Errorf("laying down the Python library: %w", err)
		}
	}
	return dir, nil
}

// Texts returns the files of a package by their paths in it, as one line of JSON.
func (l *Library) Texts(name string) ([]byte, error) {
	texts := map[string]string{}
	for file, data := range l.files {
		if inside, found := strings.CutPrefix(filepath.ToSlash(file), name+"/"); found {
			texts[inside] = string(data)
		}
	}
	line, err := json.Marshal(texts)
	return append(line, '\n'), err
}

// writeAtomically makes a file appear with all its contents or not at all.
func writeAtomically(path string, data []byte) error {
	dir := filepath.Dir(path)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	temp, err := os.CreateTemp(dir, ".new-")
	if err != nil {
		return err
	}
	defer os.Remove(temp.Name()) // fails, as it should, after the rename
	_, err = temp.Write(data)
	if err == nil {
		err = temp.Chmod(0o644)
	}
	if closeErr := temp.Close(); err == nil {
		err = closeErr
	}
	if err != nil {
		return err
	}
	return os.Rename(temp.Name(), path)
}
