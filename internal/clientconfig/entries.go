package clientconfig

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"slices"
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
	tables, err := c.format.servers(text, directory)
	if err != nil {
		return nil, err
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

// objectAt returns the object at a path of keys, nil if there is none.
func objectAt(document map[string]any, path ...string) map[string]any {
	for _, key := range path {
		document, _ = document[key].(map[string]any)
	}
	return document
}
