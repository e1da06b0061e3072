package conformance

import (
	"crypto/sha256"
	"debug/elf"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// The tests of this file look at what "make dist" has made, which tells where it lies
// in UNDERSTUDY_DIST.

// made returns the one file of a distribution that the pattern is of.
func made(t *testing.T, pattern string) string {
	t.Helper()
	place := os.Getenv("UNDERSTUDY_DIST")
	if place == "" {
		t.Skip(`needs what people download; run "make dist"`)
	}
	found, err := filepath.Glob(filepath.Join(place, pattern))
	must(t, err)
	insist(t, len(found) == 1, "%s has %d files like %s", place, len(found), pattern)
	return found[0]
}

// TestDistBundle installs the bundle as a desktop client does: its format is checked and
// it is unpacked by the format's own program, the command is made by the format's own
// library, and the server that this starts is talked with by the TypeScript SDK.
func TestDistBundle(t *testing.T) {
	bundle := made(t, "*.mcpb")
	if runtime.GOOS == "linux" && runtime.GOARCH != "amd64" {
		t.Skip("the bundle has no program for this machine")
	}
	mcpb, place := installed(t, "node_modules/@anthropic-ai/mcpb/dist/cli/cli.js"), t.TempDir()
	for _, args := range [][]string{{"unpack", bundle, place}, {"validate", place}} {
		said := finish(t, program(t, node(t), append([]string{mcpb}, args...)...))
		insist(t, said.status == 0, "mcpb %s ended with %s", args[0], said)
	}
	untouched := commandOfBundle(t, place, map[string]string{})
	for name, value := range untouched.Env {
		expect(t, value == "", "a setting that nobody has made gives %s=%s", name, value)
	}
	project := t.TempDir()
	command := commandOfBundle(t, place, map[string]string{"workdir": project, "python": os.Getenv("UNDERSTUDY_TEST_PYTHON")})
	expect(t, command.Env["UNDERSTUDY_WORKDIR"] == project, "the working directory is %q", command.Env["UNDERSTUDY_WORKDIR"])
	command.Env["UNDERSTUDY_DATA_DIR"] = t.TempDir()
	client{name: "TypeScript SDK", variant: "v2"}.follow(t, plan{
		Variant: "v2", Transport: "stdio", Era: "legacy", Dir: t.TempDir(),
		Command: append([]string{command.Command}, command.Args...), Env: command.Env,
		Steps: []string{"list", "state", "figure"},
	})
}

// bundleCommand is what a desktop client runs.
type bundleCommand struct {
	Command string
	Args    []string
	Env     map[string]string
}

func commandOfBundle(t *testing.T, place string, settings map[string]string) (command bundleCommand) {
	t.Helper()
	script, err := filepath.Abs(filepath.Join("..", "..", "testdata", "clients", "typescript", "bundle.mjs"))
	must(t, err)
	text, err := json.Marshal(settings)
	must(t, err)
	said := finish(t, program(t, node(t), script, place, string(text)))
	insist(t, said.status == 0, "making the command ended with %s", said)
	must(t, json.Unmarshal([]byte(said.stdout), &command))
	return command
}

// TestDistPrograms goes README's way with the archive for this machine, to a directory
// that is not the system's.
func TestDistPrograms(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("README says it for Linux")
	}
	archive, downloads, bin := made(t, "*-linux-"+runtime.GOARCH+".tar.gz"), t.TempDir(), t.TempDir()
	for _, path := range []string{archive, made(t, "SHA256SUMS")} {
		must(t, os.Symlink(path, filepath.Join(downloads, filepath.Base(path))))
	}
	readme, err := os.ReadFile(filepath.Join("..", "..", "README.md"))
	must(t, err)
	block := regexp.MustCompile("(?s)```\n( *sha256sum .*?)```").FindSubmatch(readme)
	insist(t, block != nil, "README doesn't say how to check what was downloaded")
	way := strings.NewReplacer("sudo ", "", "/usr/local/bin", bin).Replace(string(block[1]))
	shell := program(t, "sh", "-ec", way)
	shell.Dir = downloads
	said := finish(t, shell)
	insist(t, said.status == 0 && strings.Contains(said.stdout, filepath.Base(archive)+": OK"), "%s ended with %s", way, said)

	for _, name := range []string{"understudy.bash", "understudy.fish", "_understudy"} {
		scripts, err := filepath.Glob(filepath.Join(downloads, "understudy-*", "completions", name))
		must(t, err)
		insist(t, len(scripts) == 1, "the archive has %d files %s", len(scripts), name)
		text, err := os.ReadFile(scripts[0])
		expect(t, err == nil && strings.Contains(string(text), "understudy"), "%s is %q, %v", name, text, err)
	}
	path := filepath.Join(bin, "understudy")
	said = finish(t, program(t, path, "version"))
	expect(t, said.status == 0 && strings.HasPrefix(said.stdout, "understudy "), "version ended with %s", said)

	binary, err := elf.Open(path)
	must(t, err)
	defer binary.Close()
	libraries, err := binary.ImportedLibraries()
	expect(t, err == nil && len(libraries) == 0 && binary.Section(".interp") == nil, "the program needs %v, %v", libraries, err)
}

// TestDistDocuments checks all checksums, and holds the bills of materials and the registry's entry against their
// schemas, which come with programs that others wrote.
func TestDistDocuments(t *testing.T) {
	entry, bundle := made(t, "server.json"), made(t, "*.mcpb")
	sums := program(t, "sha256sum", "--check", "--strict", "--quiet", "SHA256SUMS")
	sums.Dir = filepath.Dir(entry)
	said := finish(t, sums)
	insist(t, said.status == 0, "the checksums are not right: %s", said)
	bills, err := filepath.Glob(filepath.Join(filepath.Dir(entry), "*.cdx.json"))
	must(t, err)
	insist(t, len(bills) > 0, "there is no bill of materials")
	place := downloaded(t, "github.com/CycloneDX/cyclonedx-gomod") + "/internal/testutil/schema/"
	schema := compile(t, place+"bom-1.6.schema.json", map[string]string{
		"http://cyclonedx.org/schema/spdx.schema.json":     place + "spdx.schema.json",
		"http://cyclonedx.org/schema/jsf-0.82.schema.json": place + "jsf-0.82.schemax.json",
	})
	for _, bill := range bills {
		document := decode(t, bill)
		must(t, schema.Validate(document))
		parts, _ := document.(map[string]any)["components"].([]any)
		expect(t, len(parts) > 40, "%s lists %d modules", bill, len(parts))
	}

	schema = compile(t, downloaded(t, "github.com/modelcontextprotocol/registry")+"/internal/validators/schemas/2025-12-11.json", nil)
	must(t, schema.Validate(decode(t, entry)))
	text, err := os.ReadFile(bundle)
	must(t, err)
	var named struct {
		Packages []struct{ Identifier, FileSHA256 string }
	}
	entryText, err := os.ReadFile(entry)
	must(t, err)
	must(t, json.Unmarshal(entryText, &named))
	insist(t, len(named.Packages) == 1, "the entry names %d packages", len(named.Packages))
	expect(t, named.Packages[0].FileSHA256 == fmt.Sprintf("%x", sha256.Sum256(text)), "the entry has the checksum of another bundle")
	expect(t, filepath.Base(named.Packages[0].Identifier) == filepath.Base(bundle), "the entry names %s", named.Packages[0].Identifier)
}

// downloaded returns where a module lies that "make dist" names with its version.
func downloaded(t *testing.T, module string) string {
	t.Helper()
	for _, versioned := range strings.Fields(os.Getenv("UNDERSTUDY_SCHEMAS")) {
		if !strings.HasPrefix(versioned, module+"@") {
			continue
		}
		text, err := exec.Command("go", "mod", "download", "-json", versioned).Output()
		insist(t, err == nil, "downloading %s: %v\n%s", versioned, err, text)
		var at struct{ Dir string }
		must(t, json.Unmarshal(text, &at))
		return at.Dir
	}
	t.Fatalf("UNDERSTUDY_SCHEMAS has no version of %s", module)
	return ""
}

// compile reads a schema from a file, and those that it refers to from others.
func compile(t *testing.T, path string, others map[string]string) *jsonschema.Schema {
	t.Helper()
	compiler := jsonschema.NewCompiler()
	for address, file := range others {
		must(t, compiler.AddResource(address, decode(t, file)))
	}
	schema, err := compiler.Compile(path)
	must(t, err)
	return schema
}

func decode(t *testing.T, path string) any {
	t.Helper()
	file, err := os.Open(path)
	must(t, err)
	defer file.Close()
	document, err := jsonschema.UnmarshalJSON(file)
	must(t, err)
	return document
}
