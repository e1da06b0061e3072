package main

import (
	"bytes"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
)

// ofLicence is how modules call the files that go with every copy of them.
var ofLicence = regexp.MustCompile(`(?i)^(licen[cs]e|copying|notice)`)

// licences returns the texts that the authors of what is in the programs want to go
// with them. The platforms' programs differ in a few modules; all are told of.
func licences(platforms []string) (file, error) {
	places := map[string]string{}
	for _, platform := range platforms {
		system, processor, _ := strings.Cut(platform, "-")
		list := exec.Command("go", "list", "-deps", "-f", "{{with .Module}}{{if not .Main}}{{.Path}} {{.Version}}\t{{.Dir}}{{end}}{{end}}", ".")
		list.Env = append(os.Environ(), "CGO_ENABLED=0", "GOOS="+system, "GOARCH="+processor)
		list.Stderr = os.Stderr
		modules, err := list.Output()
		if err != nil {
			return file{}, fmt.Errorf("listing the modules of %s: %w", platform, err)
		}
		for line := range strings.Lines(string(modules)) {
			module, place, _ := strings.Cut(strings.TrimSpace(line), "\t")
			places[module] = place
		}
	}
	root, err := exec.Command("go", "env", "GOROOT").Output()
	if err != nil {
		return file{}, fmt.Errorf("finding Go's own licence: %w", err)
	}
	delete(places, "") // packages of Go
	places["Go "+runtime.Version()] = strings.TrimSpace(string(root))
	return gather(places)
}

// gather puts the licences of modules, given by where they lie, into one text.
func gather(places map[string]string) (file, error) {
	var all bytes.Buffer
	for _, module := range slices.Sorted(maps.Keys(places)) {
		entries, err := os.ReadDir(places[module])
		if err != nil {
			return file{}, fmt.Errorf("the licence of %s: %w", module, err)
		}
		found := false
		for _, entry := range entries {
			if entry.IsDir() || !ofLicence.MatchString(entry.Name()) {
				continue
			}
			text, err := os.ReadFile(filepath.Join(places[module], entry.Name()))
			if err != nil {
				return file{}, err
			}
			found = true
			fmt.Fprintf(&all, "==== %s: %s\n\n%s\n\n", module, entry.Name(), bytes.TrimSpace(text))
		}
		if !found {
			return file{}, fmt.Errorf("%s has no licence in %s", module, places[module])
		}
	}
	return file{"THIRD-PARTY-LICENSES", 0o644, all.Bytes()}, nil
}
