package plugins

import (
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"
)

// lookEvery is how often the files are looked at, at most.
const lookEvery = time.Second

// Options are what a registry is told beside its directory.
type Options struct {
	// Logger hears of each plugin that has come, gone, changed or broken, once.
	Logger *slog.Logger
	// Changed, if set, is called after each change of the set, by who asked for it.
	Changed func()
}

// Registry knows the plugins of a directory. There is no goroutine: the files are
// looked at when somebody asks.
type Registry struct {
	dir     string
	options Options

	mu      sync.Mutex
	set     Set
	faults  map[string]string // by version: why a plugin can't be loaded, "" where it can
	files   listing
	again   bool // files were fresh when they were read
	looked  time.Time
	failure string
}

// Set is what a directory holds at one moment. It is not to be changed.
type Set struct {
	Plugins  []Plugin // by name
	Revision int      // greater after each change
}

// Open reads the directory. Plugins that are broken are no error.
func Open(dir string, o Options) (*Registry, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return nil, fmt.Errorf("plugins: %w", err)
	}
	info, err := os.Stat(dir)
	switch {
	case err != nil:
		return nil, fmt.Errorf("plugins: %w", err)
	case !info.IsDir():
		return nil, fmt.Errorf("plugins: %s is no directory", dir)
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	r := &Registry{dir: dir, options: o, faults: map[string]string{}}
	if _, err := os.ReadDir(dir); err != nil {
		return nil, fmt.Errorf("plugins: %w", err)
	}
	r.look(time.Now())
	return r, nil
}

// Set returns the plugins as they are now, or were a second ago at most.
func (r *Registry) Set() Set {
	set, changed := r.current()
	if changed && r.options.Changed != nil {
		r.options.Changed()
	}
	return set
}

// Known returns the plugins as they were when somebody last asked for the set. It
// looks at no file and calls nobody.
func (r *Registry) Known() Set {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.set
}

func (r *Registry) current() (set Set, changed bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if now := time.Now(); now.Sub(r.looked) >= lookEvery {
		changed = r.look(now)
	}
	return r.set, changed
}

// look reads what is new. The caller holds mu, or nobody knows the registry yet.
func (r *Registry) look(now time.Time) (changed bool) {
	r.looked = now
	files, err := list(r.dir)
	if err != nil { // a file system that is away for a while: what was read still works
		r.complain(err)
		return false
	}
	r.failure = ""
	if !r.again && r.set.Revision > 0 && files.same(r.files) {
		return false
	}
	r.files, r.again = files, files.fresh(now)
	all := read(r.dir, files)
	for i := range all {
		all[i].suffer(r.faults[all[i].Version])
	}
	return r.replace(all)
}

// replace makes plugins the set, if they differ from those that are there.
func (r *Registry) replace(all []Plugin) (changed bool) {
	if r.set.Revision > 0 && slices.EqualFunc(all, r.set.Plugins, same) {
		return false
	}
	r.tell(all)
	r.set = Set{all, r.set.Revision + 1}
	return true
}

// Tried reports whether somebody has judged this version of a plugin.
func (r *Registry) Tried(p Plugin) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	_, tried := r.faults[p.Version]
	return tried
}

// Judge says why a version of a plugin can't be loaded, "" that it can. It is broken from
// then on, until its files or its helpers change.
func (r *Registry) Judge(p Plugin, problem string) {
	if r.judge(p, problem) && r.options.Changed != nil {
		r.options.Changed()
	}
}

func (r *Registry) judge(p Plugin, problem string) (changed bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.faults[p.Version] = problem
	if problem == "" {
		return false
	}
	all := slices.Clone(r.set.Plugins)
	for i := range all {
		if same(all[i], p) {
			all[i].suffer(problem)
		}
	}
	return r.replace(all)
}

// tell logs how the plugins differ from those before.
func (r *Registry) tell(all []Plugin) {
	for _, p := range all {
		before, known := r.set.named(p.Name)
		switch {
		case known && same(p, before):
		case p.State == Broken:
			r.options.Logger.Error("plugin is broken", "plugin", p.Name, "reason", p.Reason())
		case known:
			r.options.Logger.Info("plugin changed", "plugin", p.Name, "state", string(p.State))
		default:
			r.options.Logger.Info("plugin found", "plugin", p.Name, "state", string(p.State))
		}
	}
	now := Set{Plugins: all}
	for _, p := range r.set.Plugins {
		if _, still := now.named(p.Name); !still {
			r.options.Logger.Info("plugin removed", "plugin", p.Name)
		}
	}
}

// complain logs that the directory can't be read, once for each reason.
func (r *Registry) complain(err error) {
	reason := err.Error()
	if errors.Is(err, fs.ErrNotExist) {
		reason = "the directory is gone"
	}
	if reason != r.failure {
		r.options.Logger.Error("the plugins stay as they were read before", "dir", r.dir, "error", reason)
		r.failure = reason
	}
}

func same(a, b Plugin) bool { return a.Name == b.Name && a.Version == b.Version }

func (s Set) named(name string) (Plugin, bool) {
	for _, p := range s.Plugins {
		if p.Name == name {
			return p, true
		}
	}
	return Plugin{}, false
}

// Ready returns the plugins that can be called.
func (s Set) Ready() []Plugin { return s.in(Ready) }

func (s Set) in(state State) []Plugin {
	return slices.DeleteFunc(slices.Clone(s.Plugins), func(p Plugin) bool { return p.State != state })
}

// Preload lists the modules that plugins wish to be imported ahead.
func (s Set) Preload() []string {
	var all []string
	for _, p := range s.Ready() {
		for _, name := range p.Preload {
			if !slices.Contains(all, name) {
				all = append(all, name)
			}
		}
	}
	return all
}
