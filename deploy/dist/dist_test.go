package main

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"debug/macho"
	"encoding/binary"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"understudy/internal/check"
	"understudy/tools"
)

var must, expect, insist = check.Must, check.Expect, check.Insist

// TestVersionsAgree compares what names the version with the newest heading of the
// changelog: who makes a release changes that first.
func TestVersionsAgree(t *testing.T) {
	t.Chdir(filepath.Join("..", ".."))
	changelog, err := os.ReadFile("CHANGELOG.md")
	must(t, err)
	want, err := release(changelog)
	must(t, err)
	plugins, err := filepath.Glob(filepath.Join("deploy", "plugin", ".*-plugin", "plugin.json"))
	must(t, err)
	for _, path := range append(plugins, filepath.Join("deploy", "mcpb", "manifest.json"), filepath.Join("deploy", "mcpb", "server.json")) {
		var document struct{ Version string }
		readJSON(t, path, &document)
		expect(t, document.Version == want, "%s is of version %q, CHANGELOG.md of %q", path, document.Version, want)
	}
}

func TestVersionOf(t *testing.T) {
	for _, one := range []struct{ describe, want string }{
		{"v1.2.3", "1.2.3"},
		{"a1c92cfa", "1.2.3-dev.ga1c92cfa"},
		{"v1.2.2-5-ga1c92cf-dirty", "1.2.3-dev.gv1.2.2-5-ga1c92cf-dirty"},
		{"v1.2.3-dirty", "1.2.3-dev.gv1.2.3-dirty"},
		{"devel", "1.2.3-dev.gdevel"},
	} {
		got, err := versionOf("1.2.3", one.describe)
		expect(t, err == nil && got == one.want, "%s gives %s, %v", one.describe, got, err)
	}
	_, err := versionOf("1.2.3", "v1.3.0")
	expect(t, err != nil && strings.Contains(err.Error(), "tag v1.2.3"), "a tag of another version gives %v", err)
}

// TestManifestNamesTheTools compares the tools that Claude Desktop lists before it has
// started the server with those of the server.
func TestManifestNamesTheTools(t *testing.T) {
	var manifest struct{ Tools []struct{ Name string } }
	readJSON(t, filepath.Join("..", "mcpb", "manifest.json"), &manifest)
	schemas, err := tools.Schemas()
	must(t, err)
	insist(t, len(manifest.Tools) == 2, "the manifest has %v", manifest.Tools)
	for _, tool := range manifest.Tools {
		_, known := schemas[tool.Name]
		expect(t, known, "there is no tool %s", tool.Name)
	}
}

// TestDistribution packs programs that are none, twice, to see that the same comes of it.
func TestDistribution(t *testing.T) {
	t.Chdir(filepath.Join("..", ".."))
	t.Setenv("SOURCE_DATE_EPOCH", "1700000000")
	built := t.TempDir()
	programs := map[string][]byte{
		"linux-amd64/understudy":       []byte("for Linux"),
		"windows-amd64/understudy.exe": []byte("for Windows"),
		"darwin-amd64/understudy":      machO(macho.CpuAmd64, "for Intel"),
		"darwin-arm64/understudy":      machO(macho.CpuArm64, "for Apple"),
	}
	for name, text := range programs {
		place(t, filepath.Join(built, name), text)
		place(t, filepath.Join(built, filepath.Dir(name), "sbom.json"), []byte("{}"))
	}
	place(t, filepath.Join(built, "completions", "understudy.bash"), []byte("complete"))

	first, second := t.TempDir(), t.TempDir()
	must(t, run("abc1234", built, first))
	must(t, run("abc1234", built, second))
	sums := readFile(t, filepath.Join(first, "SHA256SUMS"))
	expect(t, bytes.Equal(sums, readFile(t, filepath.Join(second, "SHA256SUMS"))), "packed twice, the files differ")
	expect(t, bytes.Count(sums, []byte("\n")) == 2*len(programs)+2, "SHA256SUMS has\n%s", sums)

	version := string(regexp.MustCompile(`understudy-(\S+)\.mcpb`).FindSubmatch(sums)[1])
	name := "understudy-" + version + "-linux-amd64"
	inTar := unpackTar(t, filepath.Join(first, name+".tar.gz"))
	expect(t, string(inTar[name+"/understudy"]) == "for Linux" && inTar[name+"/completions/understudy.bash"] != nil, "the archive has %v", names(inTar))
	expect(t, bytes.Contains(inTar[name+"/THIRD-PARTY-LICENSES"], []byte("==== github.com/mark3labs/mcp-go v")), "a licence is missing")
	name = strings.Replace(name, "linux", "windows", 1)
	inZip := unpackZip(t, filepath.Join(first, name+".zip"))
	expect(t, string(inZip[name+"/understudy.exe"]) == "for Windows", "the archive has %v", names(inZip))

	inBundle := unpackZip(t, filepath.Join(first, "understudy-"+version+".mcpb"))
	expect(t, bytes.Contains(inBundle["manifest.json"], []byte(version)), "the manifest is\n%s", inBundle["manifest.json"])
	joint, err := macho.NewFatFile(bytes.NewReader(inBundle["server/understudy-darwin"]))
	must(t, err)
	insist(t, len(joint.Arches) == 2, "the program for macOS has %d parts", len(joint.Arches))
	for i, part := range []string{"darwin-amd64/understudy", "darwin-arm64/understudy"} {
		start := int(joint.Arches[i].Offset)
		text := inBundle["server/understudy-darwin"][start : start+int(joint.Arches[i].Size)]
		expect(t, start%(1<<pageBits) == 0 && bytes.Equal(text, programs[part]), "%s is not whole, or at %d", part, start)
	}
}

func TestNothingWasBuilt(t *testing.T) {
	t.Chdir(filepath.Join("..", ".."))
	err := run("abc1234", t.TempDir(), t.TempDir())
	expect(t, err != nil && strings.Contains(err.Error(), "make dist"), "the error is %v", err)
}

// machO is the shortest file that counts as a program of macOS.
func machO(cpu macho.Cpu, body string) []byte {
	var text bytes.Buffer
	header := macho.FileHeader{Magic: macho.Magic64, Cpu: cpu, Type: macho.TypeExec}
	_ = binary.Write(&text, binary.LittleEndian, header)
	return append(text.Bytes(), "\x00\x00\x00\x00"+body...)
}

func place(t *testing.T, path string, text []byte) {
	t.Helper()
	must(t, os.MkdirAll(filepath.Dir(path), 0o755))
	must(t, os.WriteFile(path, text, 0o644))
}

func readFile(t *testing.T, path string) []byte {
	t.Helper()
	text, err := os.ReadFile(path)
	must(t, err)
	return text
}

func readJSON(t *testing.T, path string, into any) {
	t.Helper()
	must(t, json.Unmarshal(readFile(t, path), into))
}

func names(files map[string][]byte) []string {
	var all []string
	for name := range files {
		all = append(all, name)
	}
	slices.Sort(all)
	return all
}

func unpackTar(t *testing.T, path string) map[string][]byte {
	t.Helper()
	plain, err := gzip.NewReader(bytes.NewReader(readFile(t, path)))
	must(t, err)
	files := map[string][]byte{}
	for archive := tar.NewReader(plain); ; {
		header, err := archive.Next()
		if err == io.EOF {
			return files
		}
		must(t, err)
		files[header.Name], err = io.ReadAll(archive)
		must(t, err)
		checkMode(t, header.Name, header.FileInfo().Mode())
	}
}

func unpackZip(t *testing.T, path string) map[string][]byte {
	t.Helper()
	archive, err := zip.OpenReader(path)
	must(t, err)
	defer archive.Close()
	files := map[string][]byte{}
	for _, entry := range archive.File {
		reader, err := entry.Open()
		must(t, err)
		files[entry.Name], err = io.ReadAll(reader)
		must(t, err)
		checkMode(t, entry.Name, entry.Mode())
	}
	return files
}

// checkMode holds that programs, and they alone, can be run where they are unpacked.
func checkMode(t *testing.T, name string, mode os.FileMode) {
	t.Helper()
	program := strings.HasPrefix(filepath.Base(name), "understudy") && !strings.HasSuffix(name, ".bash")
	expect(t, (mode&0o111 != 0) == program, "%s has the mode %v", name, mode)
}
