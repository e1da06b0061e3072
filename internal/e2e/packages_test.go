package e2e

import (
	"archive/zip"
	"bytes"
	"encoding/base64"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"runtime"
	"strings"
	"testing"
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
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := archive.Close(); err != nil {
		t.Fatal(err)
	}
	return name + "-" + version + "-py3-none-any.whl", packed.Bytes()
}

var interpreterID = regexp.MustCompile(`interpreter ([0-9a-z.-]*[0-9a-z])`)

// TestPackagesOfASession: what an agent installs is there for its interpreter and for
// that one's branches, behind the sandbox and without one, and for nobody else.
func TestPackagesOfASession(t *testing.T) {
	for _, mode := range []string{"off", "standard"} {
		if mode != "off" && runtime.GOOS != "linux" {
			continue
		}
		t.Run(mode, func(t *testing.T) {
			w := startWire(t, t.TempDir(), func(cmd *exec.Cmd) {
				cmd.Args = []string{cmd.Args[0], "serve", "--allow-install", "--sandbox", mode, "--wait", "10m"}
				if err := os.Chmod(cmd.Dir, 0o1777); err != nil { // under root sessions are other users
					t.Error(err)
				}
			})
			w.initialize()
			if strings.Contains(w.py("import importlib.util; importlib.util.find_spec('pip')"), "None\\n") {
				t.Skip("no pip")
			}
			file, data := wheel(t, "understudy_tiny", "1.0")
			answer := w.call("manage_interpreters", map[string]any{"operation": "upload", "path": file, "content_base64": base64.StdEncoding.EncodeToString(data)})
			named := func(answer string) string {
				t.Helper()
				found := interpreterID.FindStringSubmatch(answer)
				if found == nil {
					t.Fatalf("no interpreter is named in %s", answer)
				}
				return found[1]
			}
			first := named(answer)
			expect := func(got string, want ...string) {
				t.Helper()
				for _, each := range want {
					if !strings.Contains(got, each) {
						t.Errorf("%q is not in %s", each, got)
					}
				}
			}
			expect(w.call("manage_interpreters", map[string]any{"operation": "install", "packages": []string{"./" + file}}), "Installed understudy_tiny 1.0.", `"status":"ok"`)
			const show = "import understudy_tiny, sys, os, subprocess; print('here', understudy_tiny.version, os.path.basename(os.path.dirname(understudy_tiny.__file__))); subprocess.run([sys.executable, '-c', 'import understudy_tiny; print(\"child\", understudy_tiny.version)'])"
			expect(w.py(show), "here 1.0 site-packages", "child 1.0")
			branch := named(w.call("manage_interpreters", map[string]any{"operation": "branch"}))
			if branch == first {
				t.Fatal("the branch has its original's name")
			}
			expect(w.call("run_python_code", map[string]any{"code": show, "interpreter_id": branch}), "here 1.0 site-packages", "child 1.0")
			expect(w.py("import os; os.abort()"), "Its variables are back")
			expect(w.py(show), "here 1.0 site-packages")
			w.call("manage_interpreters", map[string]any{"operation": "restart"})
			expect(w.py(show), "here 1.0 site-packages", "child 1.0")

			other := named(w.call("manage_interpreters", map[string]any{"operation": "create"}))
			expect(w.call("run_python_code", map[string]any{"code": show, "interpreter_id": other}), "ModuleNotFoundError")
			if mode == "standard" { // the interpreter's own packages can't be changed from within
				expect(w.py("%pip uninstall -y understudy_tiny\n%pip install --no-index ./"+file), "Successfully uninstalled", "Successfully installed")
				failed := w.call("manage_interpreters", map[string]any{"operation": "install", "packages": []string{"understudy-nosuch"}})
				expect(failed, "No matching distribution found for understudy-nosuch", "[exit code] 1", "the sandbox has no network")
			}
		})
	}
}
