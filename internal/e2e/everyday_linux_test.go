package e2e

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/mark3labs/mcp-go/client"
)

// setting is one way in which the everyday things are tried.
type setting struct {
	name  string
	user  int // 0 is root, -1 whoever runs the tests
	flags []string
	brief bool // only the programs that are marked as brief
	// refused has the server run where namespaces are refused, as in most containers.
	refused bool
}

// TestEveryday: nothing that code does every day fails in the wall. Each file in
// testdata/everyday is a program that prints ok at its end; a line "# needs: name"
// in its head names modules, programs as program:gcc, sockets:internet or terminals:own,
// without which it is left out, and "# brief" has it run in every setting. UNDERSTUDY_EVERYDAY tries all
// in one setting alone: off, in which what fails is not the wall's doing, container, or
// flags of the server with commas between.
func TestEveryday(t *testing.T) {
	t.Parallel()
	for _, s := range everydaySettings(t) {
		t.Run(s.name, func(t *testing.T) {
			t.Parallel()
			h := newHousehold(t, s)
			t.Run("program", func(t *testing.T) { h.runPrograms(t) })
			t.Run("call", func(t *testing.T) { h.makeCalls(t) })
		})
	}
}

func everydaySettings(t *testing.T) []setting {
	standard := []string{"--sandbox", "standard"}
	switch chosen := os.Getenv("UNDERSTUDY_EVERYDAY"); chosen {
	case "":
	case "off":
		return everyUser(t, setting{name: "without a wall", flags: []string{"--sandbox", "off"}})
	case "container":
		return everyUser(t, setting{name: "namespaces refused", flags: standard, refused: true})
	default:
		return everyUser(t, setting{name: "as chosen", flags: strings.Split(chosen, ",")})
	}
	spawned := everyUser(t, setting{name: "spawned", flags: append(standard, "--start", "spawn"), brief: true})
	refused := everyUser(t, setting{name: "namespaces refused", flags: standard, brief: true, refused: true})
	return slices.Concat(
		everyUser(t, setting{name: "standard", flags: standard}),
		everyUser(t, setting{name: "strict", flags: []string{"--sandbox", "strict"}, brief: true}),
		spawned[:1],              // the wall is the same
		refused[len(refused)-1:], // root: UNDERSTUDY_EVERYDAY=container, with a Python that others may run
	)
}

// everyUser has a setting tried as root and as nobody, where that can be.
func everyUser(t *testing.T, s setting) []setting {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Logf("%s: NOT TRIED as root, who does not run these tests", s.name)
		s.user = -1
		return []setting{s}
	}
	root, other := s, s
	root.name, other.name = s.name+", root", s.name+", nobody"
	other.user = nobody
	return []setting{root, other}
}

// household is a server with one setting, and who calls it.
type household struct {
	setting
	python string
	server *remote
	client *client.Client
	// missing is what the machine has not, whatever the wall.
	missing map[string]bool
}

func newHousehold(t *testing.T, s setting) *household {
	t.Helper()
	h := &household{setting: s, python: pythonFor(t, s.user)}
	h.server = h.start(t)
	h.client = ways[1].connect(t, h.server)
	h.missing = h.lookFor(t, needsOfAll(t))
	h.missing["sockets:internet"] = s.refused // one's own network is a namespace
	h.missing["terminals:own"] = s.refused && s.user != 0
	return h
}

// lookFor looks for modules and programs outside the wall: what the wall hides is
// not missing, but a failure.
func (h *household) lookFor(t *testing.T, needs []string) map[string]bool {
	t.Helper()
	missing := map[string]bool{}
	const look = "import importlib.util as u, sys; print(*(m for m in sys.argv[1:] if u.find_spec(m) is None))"
	cmd := exec.Command(h.python, "-c", look)
	for _, need := range needs {
		if strings.HasPrefix(need, "sockets:") || strings.HasPrefix(need, "terminals:") {
			continue
		} else if program, ok := strings.CutPrefix(need, "program:"); !ok {
			cmd.Args = append(cmd.Args, need)
		} else if _, err := exec.LookPath(program); err != nil {
			missing[need] = true
		}
	}
	h.become(cmd)
	modules, err := cmd.Output()
	if err != nil {
		t.Fatalf("looking for modules: %v", err)
	}
	for module := range strings.FieldsSeq(string(modules)) {
		missing[module] = true
	}
	return missing
}

// become has a command run as the setting's user.
func (h *household) become(cmd *exec.Cmd) {
	if h.user > 0 {
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uint32(h.user), Gid: uint32(h.user)}}
		cmd.Dir = "/"
	}
}

// pythonFor finds a Python that a user may run. The tests' own may lie in the home
// directory of somebody else, so UNDERSTUDY_NOBODY_PYTHON can name another one.
func pythonFor(t *testing.T, user int) string {
	t.Helper()
	h := household{setting: setting{user: user}}
	candidates := []string{os.Getenv("UNDERSTUDY_TEST_PYTHON"), "python3", "/usr/bin/python3"}
	if user > 0 {
		candidates = slices.Insert(candidates, 1, os.Getenv("UNDERSTUDY_NOBODY_PYTHON"))
	}
	for _, candidate := range candidates {
		path, err := exec.LookPath(candidate)
		if err != nil {
			continue
		}
		check := exec.Command(path, "-c", "import sys, venv; sys.exit(sys.version_info < (3, 10))")
		h.become(check)
		if check.Run() == nil {
			return path
		}
	}
	t.Skipf("NOT TRIED: user %d can run none of the Pythons %q; set UNDERSTUDY_NOBODY_PYTHON", user, candidates)
	return ""
}

// start starts the server. That of another user is a copy of the program in a
// directory that the user can reach, as the tests' own directories are closed.
func (h *household) start(t *testing.T) *remote {
	t.Helper()
	program, err := exec.LookPath("understudy")
	if err != nil {
		t.Fatal(err)
	}
	home := t.TempDir()
	if h.user > 0 || h.refused { // without a view of its own a session needs open paths
		home, program = h.move(t, program)
	}
	arguments := []string{"serve", "--transport", "http", "--addr", "127.0.0.1:0", "--wait", "9m", "--history", "2"}
	cmd := exec.Command(program, append(arguments, h.flags...)...)
	if h.refused {
		h.refuseNamespaces(t, cmd)
	}
	cmd.Env = append(os.Environ(), "UNDERSTUDY_DATA_DIR="+filepath.Join(home, "data"), "UNDERSTUDY_LOG_LEVEL=info", "UNDERSTUDY_PYTHON="+h.python, "HOME="+home)
	h.become(cmd)
	return listen(t, cmd)
}

// inContainer are the capabilities that root has in a container of Docker's.
const inContainer = "-all,+chown,+dac_override,+fowner,+fsetid,+kill,+setgid,+setuid,+setpcap,+net_bind_service,+net_raw,+sys_chroot,+mknod,+audit_write,+setfcap"

// refuseNamespaces has a command run where it may make no namespaces: root with the
// privileges of a container, others in a namespace of users that may have no others.
func (h *household) refuseNamespaces(t *testing.T, cmd *exec.Cmd) {
	t.Helper()
	for _, program := range []string{"unshare", "setpriv"} {
		if _, err := exec.LookPath(program); err != nil {
			t.Skipf("NOT TRIED: %v", err)
		}
	}
	if h.user == 0 {
		cmd.Args = append([]string{"setpriv", "--bounding-set=" + inContainer, cmd.Path}, cmd.Args[1:]...)
		cmd.Path, cmd.Err = exec.LookPath("setpriv")
		return
	}
	const refuse = `for kind in user mnt net ipc uts pid; do echo 0 > /proc/sys/user/max_${kind}_namespaces || exit; done
exec setpriv --inh-caps=-all --ambient-caps=-all "$@"`
	cmd.Args = append([]string{"unshare", "--user", "--map-current-user", "--keep-caps", "sh", "-c", refuse, "sh", cmd.Path}, cmd.Args[1:]...)
	cmd.Path, cmd.Err = exec.LookPath("unshare")
}

// move copies the program to a directory of the user's.
func (h *household) move(t *testing.T, program string) (home, moved string) {
	t.Helper()
	home, err := os.MkdirTemp("", "everyday")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(home) })
	moved = filepath.Join(home, filepath.Base(program))
	if err := errors.Join(copyFile(moved, program), os.Chmod(moved, 0o755), os.Chmod(home, 0o755), os.Chown(home, h.user, h.user)); err != nil {
		t.Fatal(err)
	}
	return home, moved
}

// program is one of the things that are done every day.
type program struct {
	name, code string
	needs      []string
	brief      bool
}

func readPrograms(t *testing.T) []program {
	t.Helper()
	files, err := filepath.Glob(root + "testdata/everyday/*.py")
	if err != nil || len(files) == 0 {
		t.Fatalf("no programs: %v", err)
	}
	var all []program
	for _, file := range files {
		code, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		p := program{name: strings.TrimSuffix(filepath.Base(file), ".py"), code: string(code)}
		for line := range strings.Lines(p.code) {
			if !strings.HasPrefix(line, "# ") {
				break // the head has ended
			}
			needs, _ := strings.CutPrefix(line, "# needs: ")
			if needs != line {
				p.needs = strings.Fields(needs)
			}
			p.brief = p.brief || line == "# brief\n"
		}
		all = append(all, p)
	}
	return all
}

func needsOfAll(t *testing.T) []string {
	t.Helper()
	var needs []string
	for _, p := range readPrograms(t) {
		needs = append(needs, p.needs...)
	}
	return needs
}

// runPrograms runs each program in an interpreter of its own.
func (h *household) runPrograms(t *testing.T) {
	for _, p := range readPrograms(t) {
		if h.brief && !p.brief {
			continue
		}
		t.Run(p.name, func(t *testing.T) {
			t.Parallel()
			for _, need := range p.needs {
				if h.missing[need] {
					t.Skipf("NOT TRIED: %s is not there", need)
				}
			}
			h.runProgram(t, p.code)
		})
	}
}

func (h *household) runProgram(t *testing.T, code string) {
	id := h.create(t)
	record, text := h.run(t, id, code)
	printed, _ := record["stdout"].(string)
	if record["status"] != "ok" || !strings.HasSuffix(printed, "ok\n") {
		t.Errorf("%s", text)
	}
}

// create makes an interpreter that goes with the test.
func (h *household) create(t *testing.T) string {
	t.Helper()
	id := h.createAnother(t)
	t.Cleanup(func() { h.manage(t, id, "delete") })
	return id
}

// createAnother makes an interpreter that the test deletes itself.
func (h *household) createAnother(t *testing.T) string {
	t.Helper()
	record, _ := mustCall(t, h.client, "manage_interpreters", map[string]any{"operation": "create"})
	return fmt.Sprint(record["interpreter_id"])
}

func (h *household) run(t *testing.T, id, code string, more ...any) (record map[string]any, text string) {
	t.Helper()
	arguments := map[string]any{"interpreter_id": id, "code": code}
	return mustCall(t, h.client, "run_python_code", with(arguments, more...))
}

func (h *household) manage(t *testing.T, id, operation string, more ...any) (record map[string]any, text string) {
	t.Helper()
	arguments := map[string]any{"interpreter_id": id, "operation": operation}
	return mustCall(t, h.client, "manage_interpreters", with(arguments, more...))
}
