package e2e

import (
	"crypto/rand"
	"encoding/json"
	"errors"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"unsafe"

	"github.com/mark3labs/mcp-go/client"
	"golang.org/x/sys/unix"
)

// nobody is the user of servers that are not root's.
const nobody = 65534

// account is somebody that a server runs as, with a Python that this user may run.
type account struct {
	name, python string
	uid          int
}

// accounts are root, if we are, and a user who is not. Root comes first. The tests' own
// Python may lie in a home directory that is closed, so UNDERSTUDY_NOBODY_PYTHON can name
// another one.
func accounts(t *testing.T) (users []account) {
	t.Helper()
	if os.Getuid() != 0 {
		return []account{{"unprivileged", python(), os.Getuid()}}
	}
	users = []account{{"root", python(), 0}}
	candidates := []string{python(), os.Getenv("UNDERSTUDY_NOBODY_PYTHON"), "/usr/local/bin/python3", "/usr/bin/python3"}
	for _, candidate := range candidates {
		cmd := exec.Command(candidate, "-c", "import sys, venv; sys.exit(sys.version_info < (3, 10))")
		cmd.Dir, cmd.SysProcAttr = "/", asUser(nobody)
		if cmd.Run() == nil {
			return append(users, account{"unprivileged", candidate, nobody})
		}
	}
	t.Logf("SKIPPED: nothing is tried by a user who is not root: user %d can run no Python 3.10 or newer, tried %q", nobody, candidates)
	return users
}

func asUser(uid int) *syscall.SysProcAttr {
	if uid == os.Getuid() {
		return nil
	}
	return &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uint32(uid), Gid: uint32(uid)}}
}

// attacked is a server with a client that attacks and one that is a victim.
type attacked struct {
	user             account
	dir              string // of all that the test has made
	server           *server
	tokens           map[string]string
	attacker, victim *client.Client
	workdir          string // the attacker's
	attackerPID      int
	program          string // understudy, or contained
	walled           bool   // there is to be a wall
	wall             layers // nil: none
	targets          map[string]any
}

// startAttacked starts a server as a user, with all that there is to be found, and the
// sessions of two clients. All of it ends with the test.
func startAttacked(t *testing.T, user account, program string, flags ...string) *attacked {
	t.Helper()
	a := &attacked{user: user, program: program, walled: !slices.Equal(flags, withoutWall), targets: map[string]any{}, tokens: map[string]string{}}
	a.makeFiles(t)
	a.listen(t)
	a.share(t)
	a.start(t, flags)
	a.attacker, a.victim = a.connect(t, "alice"), a.connect(t, "bob")
	a.settle(t)
	a.findProcesses(t)
	a.tell(t)
	return a
}

// secret is what attempts look for; each has letters of its own.
func secret(kind string) string { return kind + "-" + rand.Text() }

func (a *attacked) path(names ...string) string {
	return filepath.Join(append([]string{a.dir}, names...)...)
}

// makeFiles makes a home directory, a data directory, plugins, and a program that the
// user may run; and, for everybody, files and a directory.
func (a *attacked) makeFiles(t *testing.T) {
	t.Helper()
	var err error
	// t.TempDir is below a directory that only we may search.
	if a.dir, err = os.MkdirTemp("", "attacks-"); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(a.dir) })
	told := secret("file")
	for _, made := range []struct {
		name, text string
		mode       os.FileMode
	}{
		{"home/.ssh/id_ed25519", told, 0o600}, {"open/secret.txt", told, 0o644}, {"open/writable", told, 0o666},
		{"plugins/greet.py", "def greet():\n    \"\"\"Greets.\"\"\"\n    return 'hello'\n", 0o644},
		{"data/canary", told, 0o600}, {"outside/kept", told, 0o600},
	} {
		path := a.path(made.name)
		must(t, errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(made.text), made.mode), os.Chmod(path, made.mode)))
	}
	must(t, errors.Join(os.Mkdir(a.path("bin"), 0o755), copyPrograms(a.path("bin")), os.Chmod(a.path("open"), 0o777), os.Chmod(a.dir, 0o755)))
	for key, name := range map[string]string{
		"home": "home", "data": "data", "plugins": "plugins", "open": "open", "journal": "data/journal.db", "tokens": "tokens", "program": "bin/understudy",
	} {
		a.targets[key] = a.path(name)
	}
	a.targets["secret"] = told
	file, err := os.CreateTemp("", "in-tmp-")
	must(t, err)
	t.Cleanup(func() { _ = os.Remove(file.Name()) })
	a.targets["in_tmp"] = filepath.Base(file.Name())
	must(t, file.Close())
}

// own makes all files so far the user's.
func (a *attacked) own(t *testing.T) {
	t.Helper()
	if a.user.uid == os.Getuid() {
		return
	}
	err := filepath.WalkDir(a.dir, func(path string, _ os.DirEntry, err error) error {
		return errors.Join(err, os.Lchown(path, a.user.uid, a.user.uid))
	})
	must(t, err)
}

// copyPrograms puts understudy, and contained, where every user may run them.
func copyPrograms(dir string) error {
	self, err := os.Executable()
	return errors.Join(err, copyFile(filepath.Join(dir, "understudy"), binary), copyFile(filepath.Join(dir, "contained"), self))
}

// copyFile copies a program. No process may be forked meanwhile, which would have the copy
// open for writing until its exec: who runs the copy then is told that it is busy.
func copyFile(to, from string) error {
	syscall.ForkLock.RLock()
	defer syscall.ForkLock.RUnlock()
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o755)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, in)
	return errors.Join(err, out.Close())
}

// listen opens sockets as other programs of the host have them. They say the secret to
// whoever connects.
func (a *attacked) listen(t *testing.T) {
	t.Helper()
	name := "attacked-" + rand.Text()
	a.targets["abstract"], a.targets["socket"], a.targets["pipe"] = name, a.path("open", "socket"), a.path("open", "pipe")
	for _, at := range []struct{ key, network, address string }{
		{"tcp", "tcp", "127.0.0.1:0"}, {"tcp_all", "tcp", ":0"}, {"", "unix", a.path("open", "socket")}, {"", "unix", "@" + name},
	} {
		l, err := net.Listen(at.network, at.address)
		must(t, err)
		t.Cleanup(func() { _ = l.Close() })
		go a.greet(l)
		if at.key != "" {
			a.targets[at.key] = l.Addr().(*net.TCPAddr).Port
		}
	}
	udp, err := net.ListenPacket("udp", "127.0.0.1:0")
	must(t, err)
	t.Cleanup(func() { _ = udp.Close() })
	go func() {
		for buffer := make([]byte, 100); ; {
			_, from, err := udp.ReadFrom(buffer)
			if err != nil {
				return
			}
			_, _ = udp.WriteTo([]byte(a.targets["secret"].(string)), from)
		}
	}()
	a.targets["udp"] = udp.LocalAddr().(*net.UDPAddr).Port
	addresses := []string{}
	found, _ := net.InterfaceAddrs() // where they can't be told there are none to be tried
	for _, each := range found {
		if ip, ok := each.(*net.IPNet); ok && ip.IP.IsGlobalUnicast() {
			addresses = append(addresses, ip.IP.String())
		}
	}
	a.targets["addresses"] = addresses
	must(t, errors.Join(os.Chmod(a.path("open", "socket"), 0o777), unix.Mkfifo(a.path("open", "pipe"), 0o666), os.Chmod(a.path("open", "pipe"), 0o666)))
}

func (a *attacked) greet(l net.Listener) {
	for {
		guest, err := l.Accept()
		if err != nil {
			return
		}
		_, _ = guest.Write([]byte(a.targets["secret"].(string)))
		_ = guest.Close()
	}
}

// share makes shared memory of each kind and a message queue, which anybody may use.
func (a *attacked) share(t *testing.T) {
	t.Helper()
	var random [8]byte
	_, _ = rand.Read(random[:]) // never fails
	key := int(random[0])<<16 | int(random[1])<<8 | int(random[2]) | 1<<24
	id, err := unix.SysvShmGet(key, 4096, unix.IPC_CREAT|unix.IPC_EXCL|0o666)
	must(t, err)
	t.Cleanup(func() { _, _ = unix.SysvShmCtl(id, unix.IPC_RMID, nil) })
	memory, err := unix.SysvShmAttach(id, 0, 0)
	must(t, err)
	copy(memory, a.targets["secret"].(string))
	must(t, unix.SysvShmDetach(memory))
	name := "attacked-" + rand.Text()
	must(t, errors.Join(os.WriteFile("/dev/shm/"+name, []byte(a.targets["secret"].(string)), 0o666), os.Chmod("/dev/shm/"+name, 0o666)))
	t.Cleanup(func() { _ = os.Remove("/dev/shm/" + name) })
	a.targets["ipc_key"], a.targets["sibling_ipc_key"], a.targets["shm"] = key, key^1<<25, name
	a.targets["sibling_shm"], a.targets["sibling_abstract"] = "sibling-"+rand.Text(), "sibling-"+rand.Text()
	t.Cleanup(func() { // where there is no wall it is the host's
		_ = os.Remove("/dev/shm/" + a.targets["sibling_shm"].(string))
		if id, err := unix.SysvShmGet(key^1<<25, 0, 0); err == nil {
			_, _ = unix.SysvShmCtl(id, unix.IPC_RMID, nil)
		}
	})
	a.makeQueue(t, name)
}

func (a *attacked) makeQueue(t *testing.T, name string) {
	t.Helper()
	a.targets["queue"] = name
	text, err := unix.BytePtrFromString(name)
	must(t, err)
	// A small one (struct mq_attr): a user may have few of the usual size.
	attributes := [8]int{1: 1, 2: 200} // messages, and their size in bytes
	fd, _, errno := unix.Syscall6(unix.SYS_MQ_OPEN, uintptr(unsafe.Pointer(text)), unix.O_RDWR|unix.O_CREAT|unix.O_EXCL, 0o666, uintptr(unsafe.Pointer(&attributes)), 0, 0)
	insist(t, errno == 0, "making a message queue: %v", errno)
	if err := errors.Join(unix.Fchmod(int(fd), 0o666), unix.Close(int(fd))); err != nil { // the umask is all tests'
		t.Fatal(err)
	}
	t.Cleanup(func() { _, _, _ = unix.Syscall(unix.SYS_MQ_UNLINK, uintptr(unsafe.Pointer(text)), 0, 0) })
}

// start starts the server, and a process that has nothing to do with it. Both have a
// secret in their environment.
func (a *attacked) start(t *testing.T, flags []string) {
	t.Helper()
	for _, name := range []string{"alice", "bob"} {
		a.tokens[name] = newToken(t, name, "--add-to", a.path("tokens"))
	}
	a.own(t)
	hidden := secret("environment")
	a.targets["environment_disguised"] = disguise(hidden)
	env := []string{"PATH=" + os.Getenv("PATH"), "HOME=" + a.path("home"), "SECRET_TOKEN=" + hidden, "UNDERSTUDY_DATA_DIR=" + a.path("data"), "UNDERSTUDY_PYTHON=" + a.user.python}

	stranger := exec.Command("sleep", "1000")
	stranger.Env, stranger.Dir, stranger.SysProcAttr = env, "/", asUser(a.user.uid)
	must(t, stranger.Start())
	t.Cleanup(func() { _, _ = stranger.Process.Kill(), stranger.Wait() })

	cmd := exec.Command(a.path("bin", a.program), append([]string{
		"serve", "--transport", "http", "--addr", "127.0.0.1:0", "--preload", "none", "--structured-content", "always", "--wait", "9m",
		"--auth-tokens", a.path("tokens"), "--plugins", a.path("plugins"), "--grace", "1s", "--stop-grace", "1s",
		"--copy-share", "1", // what is attempted after an undo needs that undo at once
	}, flags...)...)
	cmd.Env, cmd.Dir, cmd.SysProcAttr = env, "/", asUser(a.user.uid)
	a.seat(t, cmd)
	a.server = listen(t, cmd)
	a.targets["server"] = strings.TrimPrefix(a.server.url, "http://")
	a.targets["pids"] = map[string]int{"server": cmd.Process.Pid, "stranger": stranger.Process.Pid}
}

// seat has the server start from a terminal, at which somebody has typed a secret.
func (a *attacked) seat(t *testing.T, cmd *exec.Cmd) {
	t.Helper()
	screen, name := seatAtTerminal(t, cmd)
	_, err := screen.WriteString(a.targets["secret"].(string) + "\n")
	must(t, errors.Join(err, os.Chown(name, a.user.uid, -1)))
	a.targets["terminal"] = name
}

// disguise returns the text backwards and in other letters, so that who looks for it
// in his own memory finds it only if it is there.
func disguise(text string) string {
	var b strings.Builder
	for i := len(text) - 1; i >= 0; i-- {
		b.WriteByte(text[i] ^ 1)
	}
	return b.String()
}

// connect greets the server as a client with a token.
func (a *attacked) connect(t *testing.T, name string) *client.Client {
	t.Helper()
	link, err := withToken(a.server, a.tokens[name])
	must(t, err)
	return dial(t, link)
}

// settle makes both sessions, and what the victim's has.
func (a *attacked) settle(t *testing.T) {
	t.Helper()
	a.targets["memory_secret"] = secret("memory")
	given, err := json.Marshal(a.targets)
	must(t, err)
	manage(t, a.victim, "upload", "path", "given.json", "content", string(given))
	record, text := run(t, a.victim, readFile(t, attacks, "victim.py"))
	var has struct {
		Pid, UID, FD int
		Address      int64
		Workdir      string
	}
	said, _ := record["stdout"].(string)
	insist(t, json.Unmarshal([]byte(said), &has) == nil, "the victim says: %s", text)
	a.targets["pids"].(map[string]int)["sibling"] = has.Pid
	a.targets["sibling"], a.targets["sibling_uid"], a.targets["sibling_fd"], a.targets["sibling_address"] = has.Workdir, has.UID, has.FD, has.Address
	a.targets["open_files"] = openFileLimit
	if a.attackerPID, err = strconv.Atoi(a.ok(t, "import os\nprint(os.getpid())", "")); err != nil {
		t.Fatal(err)
	}
	a.workdir = interpreters(t, a.attacker)[0]["workdir"].(string)
	if a.walled {
		eventually(t, func() error { // the log is read beside this
			if a.wall = a.wallLogged(); a.wall == nil {
				return errors.New("the server says nothing of a wall")
			}
			return nil
		})
	} else if a.wall = a.wallLogged(); a.wall != nil {
		t.Fatalf("the server says that its wall is %v", a.wall)
	}
}

// openFileLimit is more than the sandbox allows and less than a server has.
const openFileLimit = 4096

var layersLogged = regexp.MustCompile(`msg="code runs in the sandbox" .*layers="?\[([a-z ]*)`)

// wallLogged returns the layers that the server says it has, nil for none.
func (a *attacked) wallLogged() (wall layers) {
	found := layersLogged.FindStringSubmatch(a.server.log.String())
	if found == nil {
		return nil
	}
	for name := range strings.FieldsSeq(found[1]) {
		wall = append(wall, name)
		switch name {
		case "uid":
			if a.user.uid == 0 {
				wall = append(wall, "own_uid")
			}
		case "seccomp":
			if a.user.uid != 0 || mayLimitOthers() {
				wall = append(wall, "tag")
			}
		case "landlock":
			for n := range landlockVersion() {
				wall = append(wall, "landlock"+strconv.Itoa(n+1))
			}
		}
	}
	return wall
}

// mayLimitOthers reports whether we may set limits of other users' processes.
func mayLimitOthers() bool {
	header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var sets [2]unix.CapUserData
	return unix.Capget(&header, &sets[0]) == nil && sets[0].Effective&(1<<unix.CAP_SYS_RESOURCE) != 0
}

// landlockVersion is the ABI of the kernel's Landlock, 0 where there is none.
func landlockVersion() int {
	version, _, errno := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, 0, 0, 1)
	if errno != 0 {
		return 0
	}
	return int(version)
}

// findProcesses finds those that the server has started: the root is its child. The
// victim's worker was forked by the zygote, or by the root if that one was not warm yet;
// then the zygote is the root's other child. Where there is none the root stands for it.
func (a *attacked) findProcesses(t *testing.T) {
	t.Helper()
	pids := a.targets["pids"].(map[string]int)
	parent := parentOf(t, pids["sibling"])
	pids["root"], pids["zygote"] = parent, parent
	if above := parentOf(t, parent); above != pids["server"] {
		pids["root"] = above
		return
	}
	for _, child := range childrenOf(t, parent) {
		if child != pids["sibling"] && child != a.attackerPID {
			pids["zygote"] = child
			return
		}
	}
}

func parentOf(t *testing.T, pid int) int {
	t.Helper()
	_, rest, _ := strings.Cut(readFile(t, "/proc", strconv.Itoa(pid), "status"), "\nPPid:\t")
	number, _, _ := strings.Cut(rest, "\n")
	parent, err := strconv.Atoi(number)
	must(t, err)
	return parent
}

func childrenOf(t *testing.T, pid int) (children []int) {
	t.Helper()
	text := readFile(t, "/proc", strconv.Itoa(pid), "task", strconv.Itoa(pid), "children")
	for word := range strings.FieldsSeq(text) {
		child, err := strconv.Atoi(word)
		must(t, err)
		children = append(children, child)
	}
	return children
}

// tell gives the attacker all that it would have to guess.
func (a *attacked) tell(t *testing.T) {
	t.Helper()
	a.give(t)
	if os.Getuid() != 0 {
		return
	}
	program := filepath.Join(a.workdir, "setuid-id")
	found, err := exec.LookPath("id")
	must(t, err)
	must(t, errors.Join(copyFile(program, found), os.Chown(program, 0, 0), os.Chmod(program, 0o4755)))
}

// give puts the attempts' module and the targets into the attacker's directory.
func (a *attacked) give(t *testing.T) {
	t.Helper()
	targets, err := json.Marshal(a.targets)
	must(t, err)
	manage(t, a.attacker, "upload", "path", "targets.json", "content", string(targets))
	manage(t, a.attacker, "upload", "path", "attempting.py", "content", readFile(t, attacks, "attempting.py"))
}
