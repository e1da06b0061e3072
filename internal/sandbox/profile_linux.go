package sandbox

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"golang.org/x/sys/unix"
)

// exposure is how many thousandths of the machine's memory a session seems to use more
// than it does, when the kernel chooses whom it ends.
const exposure = 300

// The paths of a system that hold no secrets of anybody's, and what programs read of
// it. /proc shows a process its own and, by way of Landlock, no other's memory or
// environment; it is written to for what a process may set of itself.
var (
	ofSystem = []string{"/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/opt", "/nix", "/snap", "/etc", "/sys", "/var/cache/fontconfig", "/var/lib/texmf"}
	ofStrict = []string{
		"/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/nix/store", "/sys/devices/system",
		"/etc/alternatives", "/etc/ca-certificates", "/etc/fonts", "/etc/group", "/etc/host.conf", "/etc/hosts", "/etc/ld.so.cache",
		"/etc/ld.so.conf", "/etc/ld.so.conf.d", "/etc/locale.alias", "/etc/locale.conf", "/etc/localtime", "/etc/magic", "/etc/mime.types",
		"/etc/nsswitch.conf", "/etc/os-release", "/etc/passwd", "/etc/pki", "/etc/protocols", "/etc/resolv.conf", "/etc/services", "/etc/ssl", "/etc/timezone",
		"/var/cache/fontconfig",
	}
	devices = []string{"/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom"}
	// Terminals that a session makes. /dev/tty is none of them.
	terminals = []string{"/dev/ptmx", "/dev/pts"}
	// What resolves names is linked from /etc.
	ofResolver = []string{"/run/systemd/resolve", "/run/resolvconf", "/run/NetworkManager/resolv.conf"}
)

// Profile returns the wall of a family's session. Home is the family's directory, which
// holds tmp, and workdir where the session works.
func (w *Wall) Profile(family, home, workdir string) (*Profile, error) {
	e, err := w.enclosure(family)
	if err != nil {
		return nil, err
	}
	home, workdir = w.locate(home, workdir)
	if err := keepDirectory(home, "tmp"); err != nil {
		return nil, err
	}
	temporary := filepath.Join(home, "tmp")
	read, write := w.paths(home, workdir)
	tmp, shm := ofAll()
	shared := []string{shm}
	p := &Profile{
		User:    e.user,
		Group:   e.group,
		Expose:  exposure,
		Rlimits: rlimitsFor(w.settings.Limits, w.users.apart() || w.namespaced() && w.host.User != 0 && NamespaceCountsProcesses()),
	}
	// A core of a crash would be the host's to handle, often by a program of root's.
	p.Rlimits = append(p.Rlimits, [3]uint64{unix.RLIMIT_CORE, 0, 0})
	if w.namespaced() {
		p.Unshare = w.unshare()
		p.View = newView(w.host, w.settings.Hidden, slices.Concat(w.settings.Python, w.settings.Read, w.resolver()), write, temporary, w.settings.Limits.Memory/2)
		if !w.settings.Network.All {
			p.Network = &netView{Port: w.port()}
		}
		temporary = "/tmp"
		shared = append(shared, tmp)
	}
	short, err := w.shortcut(e, temporary)
	if err != nil {
		return nil, err
	}
	p.Environment = w.environment(temporary, short)
	if w.host.Landlock > 0 {
		use := existing(devices)
		if w.terminals() {
			use = append(use, existing(terminals)...)
		}
		if w.users.apart() {
			use = append(use, "/proc") // a process sets some things of itself there
		} else {
			read = append(read, "/proc") // it could set them of others
		}
		system, list := without(w.system, w.settings.Secrets)
		p.Landlock = newLandlock(w.host.Landlock, append(read, system...), use, append(shared, write...), list)
	}
	if w.host.NoSeccomp == "" {
		if p.Seccomp, err = filter(w.liberties(p.Network != nil)); err != nil {
			return nil, fmt.Errorf("the filter of system calls: %w", err)
		}
	}
	return p, nil
}

// liberties are those of the sessions' filter.
func (w *Wall) liberties(networked bool) liberties {
	return liberties{
		inet:   w.settings.Network.All || networked,
		renice: w.users.apart(),
		// A branch needs a tag of its own, which the server can't give to another user's
		// process without this; then the user tells whose the processes are.
		untag: w.users.apart() && !mayLimitOthers(),
	}
}

// TellsByUser reports whether the user of a process says of which family it is, whatever
// else its code has changed of it.
func (w *Wall) TellsByUser() bool { return w != nil && w.users.apart() }

// mayLimitOthers reports whether this process may set limits of other users' processes.
var mayLimitOthers = sync.OnceValue(func() bool {
	header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var sets [2]unix.CapUserData
	return unix.Capget(&header, &sets[0]) == nil && sets[0].Effective&(1<<unix.CAP_SYS_RESOURCE) != 0
})

// paths returns what a session may read, beside the system, and write by Landlock's rules.
func (w *Wall) paths(home, workdir string) (read, write []string) {
	read = slices.Concat(w.resolver(), present(w.settings.Python), present(w.settings.Read))
	write = append(present(w.settings.Write), home)
	if !within(workdir, []string{home}) {
		write = append(write, workdir)
	}
	return read, write
}

// systemPaths are what sessions may read of the system, where it is there.
func systemPaths(mode Mode) []string {
	if mode == Strict {
		return existing(ofStrict)
	}
	return existing(ofSystem)
}

func (w *Wall) resolver() []string {
	if w.settings.Network.All {
		return existing(ofResolver)
	}
	return nil
}

// Ahead returns what of a profile is the same for all sessions and can be put into force
// before it is known whose a worker will be; nil if there is nothing.
func (w *Wall) Ahead() *Profile {
	if w == nil || !w.namespaced() {
		return nil
	}
	p := &Profile{Unshare: w.unshare()}
	if !w.settings.Network.All {
		p.Network = &netView{}
	}
	return p
}

func (w *Wall) unshare() uintptr {
	var flags uintptr = unix.CLONE_NEWNS | unix.CLONE_NEWIPC | unix.CLONE_NEWUTS
	if w.host.User != 0 {
		flags |= unix.CLONE_NEWUSER
	}
	if !w.settings.Network.All {
		flags |= unix.CLONE_NEWNET
	}
	return flags
}

// port is the proxy's, 0 without hosts to reach.
func (w *Wall) port() int {
	if len(w.settings.Network.Hosts) == 0 {
		return 0
	}
	return proxyPort
}

// environment is what a session finds in the place of what the server's user has.
func (w *Wall) environment(home, temporary string) map[string]string {
	env := map[string]string{"HOME": home, "TMPDIR": temporary, "USER": "user", "LOGNAME": "user"}
	if w.namespaced() && !w.settings.Network.All {
		env["PIP_RETRIES"] = "1" // of five, with pauses, none would go better
	}
	if w.namespaced() && w.port() != 0 {
		proxy := fmt.Sprintf("http://127.0.0.1:%d", proxyPort)
		for _, name := range []string{"HTTP_PROXY", "HTTPS_PROXY"} {
			env[name], env[strings.ToLower(name)] = proxy, proxy
		}
		env["NO_PROXY"], env["no_proxy"] = w.settings.Network.Direct, w.settings.Network.Direct
	}
	return env
}

// detect tries one profile for each thing that a host may refuse.
func detect(ctx context.Context, python string, confine []byte) (Host, error) {
	dir, err := os.MkdirTemp("", "understudy-sandbox-")
	if err != nil {
		return Host{}, err
	}
	defer os.RemoveAll(dir)
	dir = resolved(dir)
	inet, unfiltered := filter(liberties{inet: true})
	root := Host{User: os.Geteuid()}
	everything := &Wall{host: root, settings: Settings{Network: Network{Hosts: []string{"localhost"}}}}
	spaces := &Profile{
		Unshare: everything.unshare(), Network: &netView{Port: proxyPort},
		View: newView(Host{User: root.User, NoProc: "not yet"}, nil, nil, []string{dir}, dir, 1<<20),
	}
	withProc := *spaces
	withProc.View = newView(root, nil, nil, []string{dir}, dir, 1<<20)
	trials := map[string]*Profile{
		"seccomp": {Seccomp: inet}, "namespaces": spaces,
	}
	if root.User == 0 {
		first, count := userRange(readUserMap())
		trials["users"] = &Profile{User: cmp.Or(first, 1), Group: cmp.Or(first, 1)}
		if count == 0 {
			delete(trials, "users")
		}
		trials["proc"] = &withProc
	}
	host, err := probe(ctx, python, confine, trials)
	if unfiltered != nil { // an architecture that nobody has written rules for
		host.NoSeccomp = unfiltered.Error()
	}
	if _, failed := FindCgroup(); failed != nil {
		host.NoCgroups = failed.Error()
	}
	if root.User == 0 && trials["users"] == nil {
		host.NoUsers = "this container has no other user than root"
	}
	return host, err
}
