// Command dist packs what "make dist" has built into dist/: an archive for each
// platform, a bundle for Claude Desktop, the entry for the MCP registry, and the
// checksums of all. The same build gives the same bytes.
package main

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

func main() {
	describe := flag.String("describe", "", "what git describe says of the sources")
	flag.Parse()
	if err := run(*describe, filepath.Join("build", "dist"), "dist"); err != nil {
		fmt.Fprintln(os.Stderr, "dist:", err)
		os.Exit(1)
	}
}

// release is the version that the sources are, or are becoming, in CHANGELOG.md;
// the other files that name it are compared with it by a test.
func release(changelog []byte) (string, error) {
	found := regexp.MustCompile(`(?m)^## (\d+\.\d+\.\d+)\b`).FindSubmatch(changelog)
	if found == nil {
		return "", fmt.Errorf("CHANGELOG.md has no heading like %q", "## 1.2.3")
	}
	return string(found[1]), nil
}

// versionOf returns the version that the files are to have: the release where its tag
// stands on the sources, else one that comes before it.
func versionOf(release, describe string) (string, error) {
	switch {
	case describe == "v"+release:
		return release, nil
	case regexp.MustCompile(`^v\d+\.\d+\.\d+$`).MatchString(describe):
		return "", fmt.Errorf("the tag says %s, the newest heading of CHANGELOG.md %s: tag v%s, or add a heading", describe, release, release)
	}
	return release + "-dev.g" + describe, nil
}

// distribution is what is being packed.
type distribution struct {
	release, version string
	when             time.Time // of every file in an archive
	built, out       string    // directories
	notices          []file    // what goes with every copy
}

func run(describe, built, out string) error {
	changelog, err := os.ReadFile("CHANGELOG.md")
	if err != nil {
		return err
	}
	d := distribution{built: built, out: out}
	if d.release, err = release(changelog); err != nil {
		return err
	}
	if d.version, err = versionOf(d.release, describe); err != nil {
		return err
	}
	seconds, err := strconv.ParseInt(cmp.Or(os.Getenv("SOURCE_DATE_EPOCH"), "315532800"), 10, 64)
	if err != nil {
		return fmt.Errorf("SOURCE_DATE_EPOCH: %w", err)
	}
	d.when = time.Unix(seconds, 0).UTC()
	if err := os.MkdirAll(out, 0o755); err != nil {
		return err
	}
	programs, err := filepath.Glob(filepath.Join(built, "*-*", "understudy*"))
	if err != nil {
		return err
	}
	if len(programs) == 0 {
		return fmt.Errorf("%s has no programs: run \"make dist\"", built)
	}
	if d.notices, err = notices(programs); err != nil {
		return err
	}
	if err := d.archives(programs); err != nil {
		return err
	}
	bundle, err := d.bundle()
	if err != nil {
		return err
	}
	if err := d.registryEntry(bundle); err != nil {
		return err
	}
	return d.checksums()
}

// name is how a file of this version is called.
func (d distribution) name(rest string) string { return "understudy-" + d.version + rest }

// notices are the licences, ours and those of what is in the programs.
func notices(programs []string) ([]file, error) {
	var platforms []string
	for _, program := range programs {
		platforms = append(platforms, filepath.Base(filepath.Dir(program)))
	}
	others, err := licences(platforms)
	if err != nil {
		return nil, err
	}
	files, err := read("LICENSE")
	return append(files, others), err
}

// archives packs each platform's program with what belongs to it, and puts its bill of
// materials beside.
func (d distribution) archives(programs []string) error {
	completions, err := filepath.Glob(filepath.Join(d.built, "completions", "*"))
	if err != nil {
		return err
	}
	scripts, err := read(completions...)
	if err != nil {
		return err
	}
	common, err := read("README.md")
	if err != nil {
		return err
	}
	common = slices.Concat(common, d.notices, within("completions", scripts))
	for _, program := range programs {
		files, err := read(program)
		if err != nil {
			return err
		}
		files[0].mode = 0o755
		name := d.name("-" + filepath.Base(filepath.Dir(program)))
		suffix, how := packer(program)
		if _, err := d.write(name+suffix, how, within(name, slices.Concat(files, common))); err != nil {
			return err
		}
		bill, err := os.ReadFile(filepath.Join(filepath.Dir(program), "sbom.json"))
		if err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(d.out, name+".cdx.json"), bill, 0o644); err != nil {
			return err
		}
	}
	return nil
}

// registryEntry writes the server.json of this version, which names the bundle by its
// checksum.
func (d distribution) registryEntry(bundle []byte) error {
	text, err := os.ReadFile(filepath.Join("deploy", "mcpb", "server.json"))
	if err != nil {
		return err
	}
	text = bytes.ReplaceAll(text, []byte(d.release), []byte(d.version))
	unknown := strings.Repeat("0", 2*sha256.Size)
	text = bytes.ReplaceAll(text, []byte(unknown), fmt.Appendf(nil, "%x", sha256.Sum256(bundle)))
	return os.WriteFile(filepath.Join(d.out, "server.json"), text, 0o644)
}

// checksums writes SHA256SUMS, as sha256sum --check reads it.
func (d distribution) checksums() error {
	entries, err := os.ReadDir(d.out) // sorted
	if err != nil {
		return err
	}
	var sums bytes.Buffer
	for _, entry := range entries {
		text, err := os.ReadFile(filepath.Join(d.out, entry.Name()))
		if err != nil {
			return err
		}
		fmt.Fprintf(&sums, "%x  %s\n", sha256.Sum256(text), entry.Name())
	}
	return os.WriteFile(filepath.Join(d.out, "SHA256SUMS"), sums.Bytes(), 0o644)
}
