package kubernetes

import (
	"archive/tar"
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
)

const (
	pauseImage   = "localhost/pause:test"
	thinImage    = "localhost/understudy:thin"
	fullImage    = "localhost/understudy:full"
	architecture = runtime.GOARCH
)

// pythonInPods is where pods find the Python of the tests: the image's own, or in
// the thin image a directory of this machine.
const pythonInPods = "/opt/understudy/python"

// programsInPods is where pods find understudy. It isn't below /usr, which is
// this machine's in pods of the thin image.
const programsInPods = "/opt/understudy/bin"

// python says where the Python of the tests is: the environment with the
// libraries, and the installation that it was made of.
type python struct{ environment, installation string }

var thePython = sync.OnceValues(func() (python, error) {
	said, err := exec.Command(os.Getenv("UNDERSTUDY_TEST_PYTHON"), "-c", "import sys; print(sys.prefix); print(sys.base_prefix)").Output()
	lines := strings.Fields(string(said))
	if err != nil || len(lines) != 2 {
		return python{}, fmt.Errorf("UNDERSTUDY_TEST_PYTHON must name a Python with the scientific libraries: %q, %w", said, err)
	}
	return python{lines[0], lines[1]}, nil
})

// settingsOfImages are those of the Dockerfile.
var settingsOfImages = settings{
	Entrypoint: []string{programsInPods + "/understudy"},
	User:       "10001:10001",
	WorkingDir: "/var/lib/understudy",
	Env: []string{
		"PATH=" + programsInPods + ":/usr/local/bin:/usr/bin:/bin",
		"HOME=/var/lib/understudy",
		"UNDERSTUDY_PYTHON=" + pythonInPods + "/bin/python",
		"UNDERSTUDY_DATA_DIR=/var/lib/understudy",
		"UNDERSTUDY_TRANSPORT=http,sse",
		"UNDERSTUDY_ADDR=0.0.0.0:8808",
		"UNDERSTUDY_AUTH_TOKENS=/etc/understudy/tokens",
		"UNDERSTUDY_LOG_FORMAT=json",
	},
}

// importPause gives containerd the image that every pod begins with.
func (c *cluster) importPause() error {
	program := filepath.Join(c.programs, "pause")
	return c.importImage(pauseImage, settings{Entrypoint: []string{"/pause"}}, func(l layer) error { return l.file("pause", program) })
}

// loadThinImage gives the node an image with understudy that has all else from this
// machine: its pods mount /usr, the environment of Python at pythonInPods and its
// installation at its own path.
func (c *cluster) loadThinImage(t *testing.T) {
	t.Helper()
	must(t, c.thin())
}

// loadFullImage gives the node an image that holds all that it needs. It takes half a
// minute the first time.
func (c *cluster) loadFullImage(t *testing.T) {
	t.Helper()
	must(t, c.full())
}

func (c *cluster) importThin() error {
	return c.importImage(thinImage, settingsOfImages, func(l layer) error {
		err := l.base(filepath.Join(c.dir, "understudy"))
		for _, name := range []string{"bin", "sbin", "lib", "lib64"} {
			err = errors.Join(err, l.link(name, "usr/"+name))
		}
		return err
	})
}

func (c *cluster) importFull() error {
	python, err := thePython()
	if err != nil {
		return err
	}
	libraries, err := sharedLibraries(python)
	if err != nil {
		return err
	}
	return c.importImage(fullImage, settingsOfImages, func(l layer) error {
		err := l.base(filepath.Join(c.dir, "understudy"))
		for _, library := range libraries {
			err = errors.Join(err, l.file(library, library))
		}
		return errors.Join(err, l.file("bin/sh", "/bin/sh"),
			l.tree(python.installation, python.installation, func(inside string) bool { return needless.MatchString(inside) }),
			l.tree(pythonInPods, python.environment, func(string) bool { return false }))
	})
}

// needless is what an environment has itself, and what only serves to build and
// test Python.
var needless = regexp.MustCompile(`^(include|share|lib/python[^/]*/(site-packages|test|config-.*))$|^lib/libpython.*\.a$`)

// base writes what all images begin with.
func (l layer) base(understudy string) error {
	return errors.Join(l.directory("tmp", 0o1777), l.file(programsInPods+"/understudy", understudy),
		l.directory("var/lib/understudy", 0o755),
		l.text("etc/passwd", "root:x:0:0::/root:/bin/sh\nunderstudy:x:10001:10001::/var/lib/understudy:/bin/sh\n"),
		l.text("etc/group", "root:x:0:\nunderstudy:x:10001:\n"))
}

// sharedLibraries returns those of this machine that Python and its extensions need.
func sharedLibraries(python python) ([]string, error) {
	programs := []string{"/bin/sh", filepath.Join(python.environment, "bin", "python")}
	for _, place := range []string{python.environment, python.installation} {
		err := filepath.WalkDir(place, func(path string, entry os.DirEntry, err error) error {
			if err == nil && entry.Type().IsRegular() && strings.Contains(entry.Name(), ".so") {
				programs = append(programs, path)
			}
			return err
		})
		if err != nil {
			return nil, err
		}
	}
	said, _ := exec.Command("ldd", programs...).Output() // it fails for what isn't a library
	var found []string
	for _, path := range regexp.MustCompile(`(?m)^\s*(?:\S+ => )?(/(?:usr/)?lib\S*) \(0x`).FindAllSubmatch(said, -1) {
		found = append(found, string(path[1]))
	}
	if len(found) == 0 {
		return nil, fmt.Errorf("ldd names no shared library of %s", programs[0])
	}
	slices.Sort(found)
	return slices.Compact(found), nil
}

// importImage makes an image and has containerd unpack it.
func (c *cluster) importImage(name string, settings settings, fill func(layer) error) error {
	content, err := os.CreateTemp(c.dir, "layer")
	if err != nil {
		return err
	}
	defer os.Remove(content.Name())
	defer content.Close()
	archive := tar.NewWriter(content)
	if err := errors.Join(fill(layer{archive}), archive.Close()); err != nil {
		return fmt.Errorf("writing the image %s: %w", name, err)
	}
	return c.until("containerd takes no image", func() error {
		cmd := exec.Command("ctr", "--address", filepath.Join(c.dir, "containerd.sock"), "--namespace", "k8s.io", "images", "import", "-")
		input, err := cmd.StdinPipe()
		if err != nil {
			return err
		}
		var said bytes.Buffer
		cmd.Stdout, cmd.Stderr = &said, &said
		if err := cmd.Start(); err != nil {
			return err
		}
		wrote := errors.Join(writeImage(input, name, content, settings), input.Close())
		if err := errors.Join(cmd.Wait(), wrote); err != nil {
			return fmt.Errorf("importing %s: %w: %s", name, err, said.String())
		}
		return nil
	})
}
