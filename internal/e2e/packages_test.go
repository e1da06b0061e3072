package e2e

import (
	"archive/zip"
	"bytes"
	"encoding/base64"
	"fmt"
	"os"
	"runtime"
	"strings"
	"testing"

	"github.com/mark3labs/mcp-go/client"
)

// wheel makes a package of Python that holds one module of its name.
func wheel(t *testing.T, name, version string) (file string, data []byte) {
	t.Helper()
	var packed bytes.Buffer
	archive := zip.NewWriter(&packed)
	info := name + "-" + version + ".dist-info/"
	record := ""
	for _, f := range [][2]string{
		{name + ".py", fmt.Sprintf("version = %q\n", version)},
		{info + "METADATA", fmt.Sprintf("Metadata-Version: 2.1\nName: %s\nVersion: %s\n", name, version)},
		{info + "WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n"},
		{info + "RECORD", ""},
	} {
		record += f[0] + ",,\n"
		if strings.HasSuffix(f[0], "RECORD") {
			f[1] = record
		}
		w, err := archive.Create(f[0])
		if err == nil {
			_, err = w.Write([]byte(f[1]))
		}
		must(t, err)
	}
	must(t, archive.Close())
	return name + "-" + version + "-py3-none-any.whl", packed.Bytes()
}

// TestPackagesOfASession: what an agent installs is there for its interpreter and for
// that one's branches, behind the sandbox and without one, and for nobody else.
func TestPackagesOfASession(t *testing.T) {
	for _, mode := range []string{"off", "standard"} {
		if mode != "off" && runtime.GOOS != "linux" {
			continue
		}
		t.Run(mode, func(t *testing.T) {
			t.Parallel()
			cmd := command(t, "serve", "--log-level", "warn", "--allow-install", "--sandbox", mode, "--wait", "10m")
			must(t, os.Chmod(cmd.Dir, 0o1777)) // under root sessions are other users
			installsPackages(t, spawn(t, cmd), mode == "standard")
		})
	}
}

func installsPackages(t *testing.T, c *client.Client, walled bool) {
	if record, _ := run(t, c, "import importlib.util; print(importlib.util.find_spec('pip'))"); record["stdout"] == "None\n" {
		t.Skip("no pip")
	}
	file, data := wheel(t, "understudy_tiny", "1.0")
	has := func(text string, want ...string) {
		t.Helper()
		for _, each := range want {
			expect(t, strings.Contains(text, each), "%q is not in %s", each, text)
		}
	}
	manage(t, c, "upload", "path", file, "content_base64", base64.StdEncoding.EncodeToString(data))
	record, text := manage(t, c, "install", "packages", []string{"./" + file})
	expect(t, record["status"] == "ok", "%v", record)
	has(text, "Installed understudy_tiny 1.0.")
	const show = `import understudy_tiny, sys, os, subprocess
print('here', understudy_tiny.version, os.path.basename(os.path.dirname(understudy_tiny.__file__)))
subprocess.run([sys.executable, '-c', 'import understudy_tiny; print("child", understudy_tiny.version)'])`
	shows := func(more ...any) {
		t.Helper()
		_, text := run(t, c, show, more...)
		has(text, "here 1.0 site-packages", "child 1.0")
	}
	shows()
	record, _ = manage(t, c, "branch")
	shows("interpreter_id", record["interpreter_id"])
	_, text = run(t, c, "import os; os.abort()")
	has(text, "Its variables are back")
	shows()
	manage(t, c, "restart")
	shows()

	_, text = run(t, c, show, "interpreter_id", create(t, c))
	has(text, "ModuleNotFoundError")
	if walled { // the interpreter's own packages can't be changed from within
		_, text = run(t, c, "%pip uninstall -y understudy_tiny\n%pip install --no-index ./"+file)
		has(text, "Successfully uninstalled", "Successfully installed")
		_, text = manage(t, c, "install", "packages", []string{"understudy-nosuch"})
		has(text, "No matching distribution found for understudy-nosuch", "[exit code] 1", "the sandbox has no network")
	}
}
