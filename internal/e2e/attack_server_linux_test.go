package e2e

import (
	"bufio"
	"bytes"
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
	"sync"
	"syscall"
	"testing"
	"unsafe"

	"github.com/mark3labs/mcp-go/client"
	"github.com/mark3labs/mcp-go/client/transport"
	"golang.org/x/sys/unix"
)

// nobody is the user of servers that are not root's.
const nobody = 65534

// attackUser is somebody that a server runs as.
type attackUser struct {
	name, python string
	uid          int
}

// attackUsers are root, if we are, and a user who is not. Root comes first.
func attackUsers(t *testing.T) (users []attackUser) {
	t.Helper()
	python := os.Getenv("UNDERSTUDY_TEST_PYTHON")
	if python == "" {
		python = "python3"
	}
	if os.Getuid() != 0 {
		return []attackUser{{"unprivileged", python, os.Getuid()}}
	}
	users = []attackUser{{"root", python, 0}}
	for _, python := range []string{python, "/usr/local/bin/python3", "/usr/bin/python3"} {
		cmd := exec.Command(python, "-c", "import sys; sys.exit(sys.version_info < (3, 10))")
		cmd.Dir = "/"
		cmd.SysProcAttr = asUser(nobody)
		if cmd.Run() == nil {
			return append(users, attackUser{"unprivileged", python, nobody})
		}
	}
	t.Logf("SKIPPED: no attacks on a server that is not root's: user %d can run no Python 3.10 or newer, tried %s and the system's", nobody, python)
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
	user             attackUser
	dir              string // of all that the test has made
	url              string
	cmd              *exec.Cmd
	tokens           map[string]string
	attacker, victim *client.Client
	workdir          string // the attacker's
	attackerPID      int
	program          string // understudy, or contained
	walled           bool   // there is to be a wall
	wall             layers // nil: none
	targets          map[string]any

	mu     sync.Mutex
	logged string // the layers, as the server's log has them
}

// startAttacked starts a server as a user, with all that there is to be found, and the
// sessions of two clients. All of it ends with the test.
func startAttacked(t *testing.T, user attackUser, program string, flags ...string) *attacked {
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
		err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(made.text), made.mode), os.Chmod(path, made.mode))
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(os.Mkdir(a.path("bin"), 0o755), copyPrograms(a.path("bin")), os.Chmod(a.path("open"), 0o777)); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(a.dir, 0o755); err != nil {
		t.Fatal(err)
	}
	for key, name := range map[string]string{
		"home": "home", "data": "data", "plugins": "plugins", "open": "open", "journal": "data/journal.db", "tokens": "tokens", "program": "bin/understudy",
	} {
		a.targets[key] = a.path(name)
	}
	a.targets["secret"] = told
	file, err := os.CreateTemp("", "in-tmp-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.Remove(file.Name()) })
	a.targets["in_tmp"] = filepath.Base(file.Name())
	if err := file.Close(); err != nil {
		t.Fatal(err)
	}
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
	if err != nil {
		t.Fatal(err)
	}
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
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = l.Close() })
		go a.greet(l)
		if at.key != "" {
			a.targets[at.key] = l.Addr().(*net.TCPAddr).Port
		}
	}
	udp, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
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
	if err := errors.Join(os.Chmod(a.path("open", "socket"), 0o777), unix.Mkfifo(a.path("open", "pipe"), 0o666), os.Chmod(a.path("open", "pipe"), 0o666)); err != nil {
		t.Fatal(err)
	}
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
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _, _ = unix.SysvShmCtl(id, unix.IPC_RMID, nil) })
	memory, err := unix.SysvShmAttach(id, 0, 0)
	if err != nil {
		t.Fatal(err)
	}
	copy(memory, a.targets["secret"].(string))
	if err := unix.SysvShmDetach(memory); err != nil {
		t.Fatal(err)
	}
	name := "attacked-" + rand.Text()
	if err := errors.Join(os.WriteFile("/dev/shm/"+name, []byte(a.targets["secret"].(string)), 0o666), os.Chmod("/dev/shm/"+name, 0o666)); err != nil {
		t.Fatal(err)
	}
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
	if err != nil {
		t.Fatal(err)
	}
	// A small one (struct mq_attr): a user may have few of the usual size.
	attributes := [8]int{1: 1, 2: 200} // messages, and their size in bytes
	fd, _, errno := unix.Syscall6(unix.SYS_MQ_OPEN, uintptr(unsafe.Pointer(text)), unix.O_RDWR|unix.O_CREAT|unix.O_EXCL, 0o666, uintptr(unsafe.Pointer(&attributes)), 0, 0)
	if errno != 0 {
		t.Fatal("making a message queue: ", errno)
	}
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
	if err := stranger.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _, _ = stranger.Process.Kill(), stranger.Wait() })

	a.cmd = exec.Command(a.path("bin", a.program), append([]string{
		"serve", "--transport", "http", "--addr", "127.0.0.1:0", "--preload", "none", "--structured-content", "always", "--wait", "9m",
		"--auth-tokens", a.path("tokens"), "--plugins", a.path("plugins"), "--grace", "1s", "--stop-grace", "1s",
	}, flags...)...)
	a.cmd.Env, a.cmd.Dir, a.cmd.SysProcAttr = env, "/", asUser(a.user.uid)
	a.seat(t)
	stderr, err := a.cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := a.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	address := make(chan string, 1)
	var reading sync.WaitGroup
	reading.Go(func() { a.readLog(t, stderr, address) })
	t.Cleanup(func() {
		_ = a.cmd.Process.Signal(syscall.SIGTERM)
		reading.Wait()
		if err := a.cmd.Wait(); err != nil {
			t.Errorf("the server ended with %v", err)
		}
	})
	at, ok := <-address
	if !ok {
		t.Fatal("the server did not say where it listens")
	}
	a.url, a.targets["server"] = "http://"+at+"/mcp", at
	a.targets["pids"] = map[string]int{"server": a.cmd.Process.Pid, "stranger": stranger.Process.Pid}
}

// seat has the server start from a terminal, at which somebody has typed a secret.
func (a *attacked) seat(t *testing.T) {
	t.Helper()
	screen, name := seatAtTerminal(t, a.cmd)
	_, err := screen.WriteString(a.targets["secret"].(string) + "\n")
	if err := errors.Join(err, os.Chown(name, a.user.uid, -1)); err != nil {
		t.Fatal(err)
	}
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
	link, err := transport.NewStreamableHTTP(a.url, transport.WithHTTPHeaders(map[string]string{"Authorization": "Bearer " + a.tokens[name]}))
	if err != nil {
		t.Fatal(err)
	}
	w := way{name, func(*testing.T, *remote) (transport.Interface, error) { return link, nil }, false}
	return w.connect(t, nil)
}

// settle makes both sessions, and what the victim's has.
func (a *attacked) settle(t *testing.T) {
	t.Helper()
	a.targets["memory_secret"] = secret("memory")
	given, err := json.Marshal(a.targets)
	if err != nil {
		t.Fatal(err)
	}
	mustCall(t, a.victim, "manage_interpreters", map[string]any{"operation": "upload", "path": "given.json", "content": string(given)})
	record, text := mustCall(t, a.victim, "run_python_code", map[string]any{"code": readAttack(t, "victim.py")})
	var has struct {
		Pid, UID, FD int
		Address      int64
		Workdir      string
	}
	if said, _ := record["stdout"].(string); json.Unmarshal([]byte(said), &has) != nil {
		t.Fatalf("the victim says: %s", text)
	}
	a.targets["pids"].(map[string]int)["sibling"] = has.Pid
	a.targets["sibling"], a.targets["sibling_uid"], a.targets["sibling_fd"], a.targets["sibling_address"] = has.Workdir, has.UID, has.FD, has.Address
	a.targets["open_files"] = openFileLimit
	if a.attackerPID, err = strconv.Atoi(a.ok(t, "import os\nprint(os.getpid())", "")); err != nil {
		t.Fatal(err)
	}
	listed, _ := mustCall(t, a.attacker, "manage_interpreters", map[string]any{"operation": "list"})
	own := listed["interpreters"].([]any)[0].(map[string]any)
	a.workdir = own["workdir"].(string)
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

// readLog reads the server's log to its end: where it listens, and of what its wall is.
func (a *attacked) readLog(t *testing.T, stderr io.Reader, address chan<- string) {
	defer close(address)
	told := false
	for lines := bufio.NewScanner(stderr); lines.Scan(); {
		t.Log("server:", lines.Text())
		if found := layersLogged.FindStringSubmatch(lines.Text()); found != nil {
			a.mu.Lock()
			a.logged = found[1]
			a.mu.Unlock()
		}
		if at := servingAt.FindStringSubmatch(lines.Text()); at != nil && !told {
			address <- at[1]
			told = true
		}
	}
}

// wallLogged returns the layers that the server says it has, nil for none.
func (a *attacked) wallLogged() (wall layers) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for name := range strings.FieldsSeq(a.logged) {
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
	status, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/status")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := bytes.Cut(status, []byte("\nPPid:\t"))
	parent, err := strconv.Atoi(string(bytes.SplitN(rest, []byte("\n"), 2)[0]))
	if err != nil {
		t.Fatal(err)
	}
	return parent
}

func childrenOf(t *testing.T, pid int) (children []int) {
	t.Helper()
	text, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/task/" + strconv.Itoa(pid) + "/children")
	if err != nil {
		t.Fatal(err)
	}
	for word := range strings.FieldsSeq(string(text)) {
		child, err := strconv.Atoi(word)
		if err != nil {
			t.Fatal(err)
		}
		children = append(children, child)
	}
	return children
}

// tell gives the attacker all that it would have to guess.
func (a *attacked) tell(t *testing.T) {
	t.Helper()
	a.give(t, a.attacker, "")
	if os.Getuid() != 0 {
		return
	}
	program := filepath.Join(a.workdir, "setuid-id")
	found, err := exec.LookPath("id")
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(copyFile(program, found), os.Chown(program, 0, 0), os.Chmod(program, 0o4755)); err != nil {
		t.Fatal(err)
	}
}

// give puts the attempts' module and the targets into an interpreter's directory, the
// default one's when it has no id.
func (a *attacked) give(t *testing.T, c *client.Client, id string) {
	t.Helper()
	targets, err := json.Marshal(a.targets)
	if err != nil {
		t.Fatal(err)
	}
	for name, content := range map[string]string{"targets.json": string(targets), "attempting.py": readAttack(t, "attempting.py")} {
		arguments := map[string]any{"operation": "upload", "path": name, "content": content}
		if id != "" {
			arguments["interpreter_id"] = id
		}
		mustCall(t, c, "manage_interpreters", arguments)
	}
}
