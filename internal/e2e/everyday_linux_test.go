package e2e

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/mark3labs/mcp-go/client"
)

// setting is one way in which the everyday things are tried.
type setting struct {
	name  string
	user  account
	flags []string
	brief bool // only the programs that are marked as brief
	// refused has the server run where namespaces are refused, as in most containers.
	refused bool
}

// TestEveryday: nothing that code does every day fails in the wall. Each file below
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

// everyUser has a setting tried as root and as somebody else, where that can be.
func everyUser(t *testing.T, s setting) (all []setting) {
	t.Helper()
	for _, user := range accounts(t) {
		each := s
		each.name, each.user = s.name+", "+user.name, user
		all = append(all, each)
	}
	return all
}

// household is a server with one setting, and who calls it.
type household struct {
	setting
	server *server
	client *client.Client
	// missing is what the machine has not, whatever the wall.
	missing map[string]bool
}

func newHousehold(t *testing.T, s setting) *household {
	t.Helper()
	h := &household{setting: s}
	h.server = h.start(t)
	h.client = ways[1].connect(t, h.server)
	h.missing = h.lookFor(t)
	h.missing["sockets:internet"] = s.refused // one's own network is a namespace
	h.missing["terminals:own"] = s.refused && s.user.uid != 0
	return h
}

// lookFor looks for modules and programs outside the wall: what the wall hides is
// not missing, but a failure.
func (h *household) lookFor(t *testing.T) map[string]bool {
	t.Helper()
	var needs []string
	for _, p := range everydayPrograms(t) {
		needs = append(needs, strings.Fields(p.head["needs"])...)
	}
	missing := map[string]bool{}
	const look = "import importlib.util as u, sys; print(*(m for m in sys.argv[1:] if u.find_spec(m) is None))"
	cmd := exec.Command(h.user.python, "-c", look)
	for _, need := range needs {
		if strings.HasPrefix(need, "sockets:") || strings.HasPrefix(need, "terminals:") {
			continue
		} else if program, ok := strings.CutPrefix(need, "program:"); !ok {
			cmd.Args = append(cmd.Args, need)
		} else if _, err := exec.LookPath(program); err != nil {
			missing[need] = true
		}
	}
	cmd.Dir, cmd.SysProcAttr = "/", asUser(h.user.uid)
	modules, err := cmd.Output()
	insist(t, err == nil, "looking for modules: %v", err)
	for module := range strings.FieldsSeq(string(modules)) {
		missing[module] = true
	}
	return missing
}

// start starts the server. That of another user is a copy of the program in a
// directory that the user can reach, as the tests' own directories are closed.
func (h *household) start(t *testing.T) *server {
	t.Helper()
	home := t.TempDir()
	cmd := command(t, append([]string{"serve", "--transport", "http", "--addr", "127.0.0.1:0", "--wait", "9m", "--history", "2"}, h.flags...)...)
	if h.user.uid != os.Getuid() || h.refused { // without a view of its own a session needs open paths
		home, cmd.Path = h.move(t)
	}
	if h.refused {
		h.refuseNamespaces(t, cmd)
	}
	cmd.SysProcAttr, cmd.Dir, cmd.Env = asUser(h.user.uid), home, append(cmd.Env, "UNDERSTUDY_DATA_DIR="+filepath.Join(home, "data"), "UNDERSTUDY_PYTHON="+h.user.python, "HOME="+home)
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
	if h.user.uid == 0 {
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
func (h *household) move(t *testing.T) (home, moved string) {
	t.Helper()
	home, err := os.MkdirTemp("", "everyday")
	must(t, err)
	t.Cleanup(func() { _ = os.RemoveAll(home) })
	moved = filepath.Join(home, "understudy")
	must(t, errors.Join(copyFile(moved, binary), os.Chmod(moved, 0o755), os.Chmod(home, 0o755), os.Chown(home, h.user.uid, h.user.uid)))
	return home, moved
}

func everydayPrograms(t *testing.T) (all []program) {
	t.Helper()
	files, err := filepath.Glob(root + "testdata/everyday/*/*.py")
	insist(t, err == nil && len(files) != 0, "no programs: %v", err)
	for _, file := range files {
		all = append(all, newProgram(filepath.Base(file), readFile(t, file)))
	}
	return all
}

// runPrograms runs each program in an interpreter of its own.
func (h *household) runPrograms(t *testing.T) {
	for _, p := range everydayPrograms(t) {
		if _, isBrief := p.head["brief"]; h.brief && !isBrief {
			continue
		}
		t.Run(p.name, func(t *testing.T) {
			t.Parallel()
			for need := range strings.FieldsSeq(p.head["needs"]) {
				if h.missing[need] {
					t.Skipf("NOT TRIED: %s is not there", need)
				}
			}
			record, text := h.run(t, h.create(t), p.code)
			printed, _ := record["stdout"].(string)
			expect(t, record["status"] == "ok" && strings.HasSuffix(printed, "ok\n"), "%s", text)
		})
	}
}

// create makes an interpreter that goes with the test.
func (h *household) create(t *testing.T) string {
	t.Helper()
	id := create(t, h.client)
	t.Cleanup(func() { h.manage(t, id, "delete") })
	return id
}

func (h *household) run(t *testing.T, id, code string, more ...any) (record map[string]any, text string) {
	t.Helper()
	return run(t, h.client, code, append(more, "interpreter_id", id)...)
}

func (h *household) manage(t *testing.T, id, operation string, more ...any) (record map[string]any, text string) {
	t.Helper()
	return manage(t, h.client, operation, append(more, "interpreter_id", id)...)
}
