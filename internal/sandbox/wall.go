package sandbox

import (
	"cmp"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"understudy/internal/proc"
)

// Wall makes the profiles of all sessions of a server. A nil one confines nothing.
type Wall struct {
	settings Settings
	host     Host
	users    *users
	system   system
	gpu      gpu
	homes    string // where those of families will be, "" while that is not known
	shared   string // settings.Shared, without links

	families *families
}

// families are the enclosures of the sessions' families: those of one server, whatever
// Python they run.
type families struct {
	mu  sync.Mutex
	all map[string]*enclosure
}

// enclosure is what a family has of its own. A family is a session and its branches,
// which are forks of its processes and so behind the same wall.
type enclosure struct {
	account         // none: the server's own
	shortcut string // a short path to its temporary files, "" for none
}

// ErrBelowFloor says that a layer is missing without which nothing is to be served.
var ErrBelowFloor = errors.New("the sandbox is below its floor")

// New returns the wall that the settings ask for, as far as the host allows it. It
// returns none for mode off, and an ErrBelowFloor where too little is allowed.
func New(settings Settings, host Host) (*Wall, error) {
	if settings.Mode == Off || settings.Mode == "" {
		if len(settings.Floor) > 0 {
			return nil, fmt.Errorf("%w: --sandbox is off, and --sandbox-floor asks for %s", ErrBelowFloor, join(settings.Floor))
		}
		return nil, nil
	}
	settings.Read, settings.Write, settings.Python = settled(settings.Read), settled(settings.Write), settled(settings.Python)
	settings.Hidden, settings.Secrets = settled(settings.Hidden), append(settled(settings.Secrets), settings.Secrets...)
	w := &Wall{settings: settings, host: host, users: newUsers(host), system: newSystem(settings, host), families: &families{all: map[string]*enclosure{}}}
	if settings.Shared != "" {
		w.shared = resolved(settings.Shared)
	}
	if host.User == 0 && !w.users.active() {
		return nil, fmt.Errorf("%w: the server is root and can't run code as anybody else (%s): start it as another user, let it change users (the capabilities SETUID and SETGID), or switch the sandbox off (--sandbox off)", ErrBelowFloor, cmp.Or(host.NoUsers, "there is no other user"))
	}
	var err error
	if w.gpu, err = newGPU(settings, w.users.active()); err != nil {
		return nil, err
	}
	if err := errors.Join(w.users.share(settings.Shared), w.reachesPython(), w.keepsPython()); err != nil {
		return nil, err
	}
	floor := settings.Floor
	if settings.Mode == Strict {
		floor = append(slices.Clone(floor), Landlock, Seccomp, Namespaces, UID)
	}
	var missing []string
	for _, s := range w.Layers() {
		if !s.Active && slices.Contains(floor, s.Layer) {
			missing = append(missing, fmt.Sprintf("%s (%s)", s.Layer, s.Detail))
		}
	}
	if len(missing) > 0 {
		return nil, fmt.Errorf("%w: it needs %s; lower --sandbox or --sandbox-floor, or let the host allow it", ErrBelowFloor, strings.Join(missing, "; "))
	}
	return w, nil
}

func join(layers []Layer) string {
	var all []string
	for _, l := range layers {
		all = append(all, string(l))
	}
	return strings.Join(all, ", ")
}

// ExpectHomes says in which directory the homes of families will be: what all sessions
// have in common can then be put into force ahead of them. It is to be called first.
func (w *Wall) ExpectHomes(dir string) {
	if w != nil {
		w.homes = dir
	}
}

// Carry gives all sessions variables, and a file of the server's to read. It is to be called
// first.
func (w *Wall) Carry(environment map[string]string, file string) {
	if w != nil {
		w.settings.Environment = environment
		w.settings.Read = append(w.settings.Read, settled([]string{file})...)
	}
}

// NoSecrets says why sessions of this wall can't use secrets of the server's that they don't
// read, "" if they can: they need its proxy, and must not reach its memory or environment.
func (w *Wall) NoSecrets() string {
	switch {
	case w == nil:
		return "there is no sandbox"
	case !w.namespaced():
		return fmt.Sprintf("%s: without it code does not reach the server's proxy (%s)", Namespaces, w.host.NoNamespaces)
	case w.host.Landlock == 0 && !w.users.apart():
		return fmt.Sprintf("%s, or a server that is root: without either code can read the server's environment and memory", Landlock)
	}
	return ""
}

// ForPython returns the wall for sessions that run another Python, which needs to read
// these directories. All else is as it is, down to the users of the families: those of
// both walls are admitted to either, and known to both.
func (w *Wall) ForPython(directories []string) (*Wall, error) {
	if w == nil {
		return nil, nil
	}
	other := *w
	other.settings.Python = settled(directories)
	return &other, errors.Join(other.reachesPython(), other.keepsPython())
}

// Mode is what the wall was asked to be.
func (w *Wall) Mode() Mode {
	if w == nil {
		return Off
	}
	return w.settings.Mode
}

// Network is what sessions may connect to.
func (w *Wall) Network() Network {
	if w == nil {
		return Network{All: true}
	}
	return w.settings.Network
}

// Limits are those of each session.
func (w *Wall) Limits() Limits {
	if w == nil {
		return Limits{}
	}
	return w.settings.Limits
}

// Admit makes the family's wall known and hands it directories that the server has
// made for it. What is in them must be the family's already: once its code gets there,
// nothing can be given away by name.
func (w *Wall) Admit(family string, dirs ...string) error {
	e, err := w.enclosure(family)
	if err != nil || e.user == 0 {
		return err
	}
	for _, dir := range dirs {
		if err := os.Lchown(dir, e.user, e.group); err != nil {
			return fmt.Errorf("handing a directory to the session's user: %w", err)
		}
		if w.namespaced() {
			continue // which binds it wherever it is
		}
		if err := passable(filepath.Dir(dir)); err != nil {
			return fmt.Errorf("%w; let others do so (chmod o+x) or choose another --data-dir", err)
		}
	}
	return nil
}

func (w *Wall) enclosure(family string) (*enclosure, error) {
	w.families.mu.Lock()
	defer w.families.mu.Unlock()
	if e := w.families.all[family]; e != nil {
		return e, nil
	}
	its, err := w.users.take()
	if err != nil {
		return nil, err
	}
	e := &enclosure{account: its}
	w.families.all[family] = e
	return e, nil
}

// Release forgets a family whose sessions have ended and whose files are gone.
func (w *Wall) Release(family string) {
	if w == nil {
		return
	}
	w.families.mu.Lock()
	e := w.families.all[family]
	delete(w.families.all, family)
	w.families.mu.Unlock()
	if e == nil {
		return
	}
	e.endShortcut()
	// What has hidden from its interpreter's end. A user who still has processes is nobody
	// to be given to others.
	if w.users.apart() && e.user != 0 && !proc.EndUser(e.user, slog.With("family", family, "user", e.user)) {
		return
	}
	w.users.give(e.account)
}

// reachesPython refuses a Python that the sessions' users could not run. With a view of
// the file system of their own they can, wherever it is.
func (w *Wall) reachesPython() error {
	if w.namespaced() || !w.users.active() {
		return nil
	}
	for _, path := range present(w.settings.Python) {
		if err := passable(filepath.Dir(path)); err != nil {
			return fmt.Errorf("the Python in %s can't be run: %w; choose a Python that others may run (--python), let others pass (chmod o+x), or start the server as another user than root", path, err)
		}
	}
	return nil
}

// keepsPython refuses a Python that code could change: the server runs it without a wall
// when it starts. What is in a directory that code may write to, mounts keep as it is.
func (w *Wall) keepsPython() error {
	for _, path := range w.settings.Python {
		for _, share := range w.writable() {
			if !within(path, []string{share}) || path != share && w.namespaced() {
				continue
			}
			return fmt.Errorf("code in the sandbox may write to %s, and Python is in, or looks for modules in, %s: it could change what the server itself runs; let it write to another directory (--workdir, --write), choose a Python elsewhere (--python), or switch the sandbox off (--sandbox off)", share, path)
		}
	}
	return nil
}

// writable are the operator's directories that sessions may write to.
func (w *Wall) writable() []string {
	if w.shared == "" {
		return slices.Clone(w.settings.Write)
	}
	return append(slices.Clone(w.settings.Write), w.shared)
}

// passable says why other users can't reach what is in a directory.
func passable(dir string) error {
	dir, err := filepath.EvalSymlinks(dir)
	if err != nil {
		return err
	}
	for {
		info, err := os.Stat(dir)
		if err != nil {
			return err
		}
		if info.Mode()&0o001 == 0 {
			return fmt.Errorf("the sandbox runs code as a user who can't pass through %s", dir)
		}
		above := filepath.Dir(dir)
		if above == dir {
			return nil
		}
		dir = above
	}
}

// namespaced reports whether sessions have namespaces of their own.
func (w *Wall) namespaced() bool { return w.host.NoNamespaces == "" }

// within reports whether a path is one of the directories or lies in one.
func within(path string, dirs []string) bool {
	return slices.ContainsFunc(dirs, func(dir string) bool {
		return path == dir || strings.HasPrefix(path, strings.TrimSuffix(dir, "/")+"/")
	})
}
