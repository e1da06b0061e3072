package clientconfig

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"github.com/pelletier/go-toml/v2"
	"github.com/tailscale/hujson"
)

// Entry is a server that a client is configured with.
type Entry struct {
	Client string // as its users know it
	Scope  Scope
	Path   string // of the file
	Server
}

// Entries returns the servers that are configured in the files of all known clients, for
// the user and for the project in a directory, in the order of the clients' names. The
// error joins those of files that are there and can't be read.
func Entries(directory string) ([]Entry, error) {
	s, err := thisSystem()
	if err != nil {
		return nil, err
	}
	s.directory = directory
	return entries(s)
}

func entries(s system) (all []Entry, err error) {
	for _, name := range slices.Sorted(maps.Keys(Clients)) {
		client := Clients[name]
		for _, scope := range []Scope{User, Project} {
			path, none := client.path(s, scope)
			if none != nil {
				continue
			}
			servers, failed := client.read(path, s.directory)
			if failed != nil {
				err = errors.Join(err, fmt.Errorf("%s: %s: %w", client.Title, path, failed))
			}
			for _, server := range servers {
				all = append(all, Entry{client.Title, scope, path, server})
			}
		}
	}
	return all, err
}

// read returns the servers in a file; none if it is not there.
func (c Client) read(path, directory string) (all []Server, err error) {
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	document, err := decode(path, text)
	if err != nil {
		return nil, err
	}
	tables := []map[string]any{objectAt(document, c.key)}
	if c.projects != "" {
		tables = append(tables, objectAt(document, c.projects, directory, c.key))
	}
	for _, table := range tables {
		for _, name := range slices.Sorted(maps.Keys(table)) {
			if entry, ok := table[name].(map[string]any); ok {
				all = append(all, serverOf(name, entry))
			}
		}
	}
	return all, nil
}

// serverOf is what an entry says; one at a URL has no command.
func serverOf(name string, entry map[string]any) Server {
	s := Server{Name: name}
	s.Command, _ = entry["command"].(string)
	args, _ := entry["args"].([]any)
	for _, arg := range args {
		s.Args = append(s.Args, fmt.Sprint(arg))
	}
	return s
}

// decode reads a file of JSON, which may have comments, or of TOML.
func decode(path string, text []byte) (document map[string]any, err error) {
	if filepath.Ext(path) == ".toml" {
		err = toml.Unmarshal(text, &document)
		return document, err
	}
	standard, err := hujson.Standardize(bytes.TrimPrefix(text, bom))
	if err != nil {
		return nil, err
	}
	err = json.Unmarshal(standard, &document)
	return document, err
}

// objectAt returns the object at a path of keys, nil if there is none.
func objectAt(document map[string]any, path ...string) map[string]any {
	for _, key := range path {
		document, _ = document[key].(map[string]any)
	}
	return document
}
