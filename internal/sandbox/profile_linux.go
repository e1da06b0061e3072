package sandbox

import (
	"cmp"
	"context"
	"fmt"
	"maps"
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
	var elsewhere []string
	if workdir != w.shared && !within(workdir, []string{home}) {
		elsewhere = append(elsewhere, workdir)
	}
	p := &Profile{
		Base:    w.base(filepath.Dir(home), elsewhere),
		User:    e.user,
		Group:   e.group,
		Expose:  exposure,
		Rlimits: rlimitsFor(w.settings.Limits, w.users.apart() || w.namespaced() && w.host.User != 0 && NamespaceCountsProcesses()),
	}
	// A core of a crash would be the host's to handle, often by a program of root's.
	p.Rlimits = append(p.Rlimits, [3]uint64{unix.RLIMIT_CORE, 0, 0})
	own := []string{home}
	if p.Base.View != nil {
		own = append(own, p.Base.View.Temporary)
		p.Binds = []bind{{temporary, p.Base.View.Temporary, true}, {home, home, true}}
		temporary = "/tmp"
	}
	short, err := w.shortcut(e, temporary)
	if err != nil {
		return nil, err
	}
	p.Environment = w.environment(temporary, short)
	if p.Base.Landlock != nil {
		p.Rules = rulesFor(w.host.Landlock, toWrite, own)
	}
	if w.host.NoSeccomp == "" {
		if p.Seccomp, err = filter(w.liberties(p.Base.Network != nil)); err != nil {
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
		memfd: len(w.gpu.devices) > 0,
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

// Ahead returns what can be put into force before it is known whose a worker will be; nil
// for nothing.
func (w *Wall) Ahead() *Base {
	if w == nil || w.homes == "" {
		return nil
	}
	homes := resolved(w.homes)
	if _, err := os.Lstat(homes); err != nil {
		return nil // it comes with the first session
	}
	return w.base(homes, nil)
}

// base returns what is the same for all sessions whose homes are in a directory, and
// which work there or elsewhere.
func (w *Wall) base(homes string, elsewhere []string) *Base {
	python, read, write := present(w.settings.Python), present(w.settings.Read), present(append(w.writable(), elsewhere...))
	hide := present(w.settings.Hidden)
	secrets := w.secrets()
	b := &Base{identities: identify(slices.Concat(python, read, write, hide, secrets, []string{homes}, w.gpu.devices))}
	if w.namespaced() {
		b.Unshare = w.unshare()
		b.View = w.newView(homes, hide, slices.Concat(python, read, w.system.resolver), write)
		if !w.settings.Network.All {
			b.Network = &netView{Port: w.port()}
		}
	}
	if w.host.Landlock > 0 {
		system, list := without(w.system.read, secrets)
		if len(list) > 0 { // there are rules for single files, which others replace
			b.identities += identify(system)
		}
		read = slices.Concat(system, w.system.resolver, w.gpu.read, python, read)
		use := slices.Concat(w.system.devices, w.gpu.devices)
		if w.terminals() {
			use = append(use, w.system.terminals...)
		}
		if w.users.apart() || len(w.gpu.devices) > 0 {
			// A process sets some things of itself there: CUDA doesn't start unless it can name
			// its threads, and there are no rules for what will be a copy's or a child's.
			use = append(use, "/proc")
		} else {
			read = append(read, "/proc") // it could set them of others
		}
		b.Landlock = newLandlock(w.host.Landlock, read, use, append(write, w.system.shm), list)
	}
	return b
}

// system are paths of the system's, without links, that are there. No code changes them:
// they are found once.
type system struct {
	read, hidden, devices, terminals, resolver []string

	tmp, shm string // in which everybody may write
}

func newSystem(settings Settings, host Host) system {
	s := system{
		read: existing(ofSystem), hidden: existing(hidden), devices: existing(devices), terminals: existing(terminals),
		tmp: resolved("/tmp"), shm: resolved("/dev/shm"),
	}
	if settings.Mode == Strict {
		s.read = existing(ofStrict)
	}
	if settings.Network.All {
		s.resolver = existing(ofResolver)
	}
	if host.Landlock == 0 {
		s.hidden = append(s.hidden, existing(hiddenElse)...)
	}
	return s
}

// identify returns a text that tells directories apart that came to have the same path.
func identify(paths []string) string {
	var text strings.Builder
	for _, path := range paths {
		var is unix.Stat_t
		_ = unix.Lstat(path, &is) // what is not there is nothing
		fmt.Fprintf(&text, "%d:%d ", is.Dev, is.Ino)
	}
	return text.String()
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
	if w.settings.Mode == Strict { // git works with files that are not there, and not with those it may not read
		env["GIT_CONFIG_NOSYSTEM"], env["GIT_ATTR_NOSYSTEM"] = "1", "1"
	}
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
	maps.Copy(env, w.settings.Environment)
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
	spaces, withProc := trialOf(Host{User: root.User, NoProc: "not yet"}, dir), trialOf(root, dir)
	none := &Base{}
	trials := map[string]*Profile{
		"seccomp": {Base: none, Seccomp: inet}, "namespaces": spaces,
	}
	if root.User == 0 {
		first, count := userRange(readUserMap())
		trials["users"] = &Profile{Base: none, User: cmp.Or(first, 1), Group: cmp.Or(first, 1)}
		if count == 0 {
			delete(trials, "users")
		}
		trials["proc"] = withProc
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

// trialOf is a profile with all that namespaces are used for, for a session in dir.
func trialOf(host Host, dir string) *Profile {
	settings := Settings{Network: Network{Hosts: []string{"localhost"}}, Limits: Limits{Memory: 2 << 20}}
	w := &Wall{host: host, settings: settings, system: newSystem(settings, host)}
	view := w.newView(filepath.Dir(dir), nil, nil, nil)
	return &Profile{
		Base:  &Base{Unshare: w.unshare(), Network: &netView{Port: proxyPort}, View: view},
		Binds: []bind{{dir, view.Temporary, true}, {dir, dir, true}},
	}
}
