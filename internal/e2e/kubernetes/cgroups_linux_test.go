package kubernetes

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// hierarchy is a tree of cgroups, of the first version: there is one for each
// controller.
type hierarchy struct {
	controllers string // as the kernel writes them: "cpu,cpuacct", "name=systemd"
	at          string // where it is mounted
	own         string // the directory of this process's own cgroup
}

// hierarchies returns those of this machine.
func hierarchies() ([]hierarchy, error) {
	mounts, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		return nil, err
	}
	groups, err := os.ReadFile("/proc/self/cgroup")
	if err != nil {
		return nil, err
	}
	var found []hierarchy
	for line := range strings.Lines(string(mounts)) {
		place, kind, _ := strings.Cut(strings.TrimSpace(line), " - ")
		if !strings.HasPrefix(kind, "cgroup ") {
			continue
		}
		options := strings.Split(kind[strings.LastIndex(kind, " ")+1:], ",")
		from, at := strings.Fields(place)[3], strings.Fields(place)[4]
		for group := range strings.Lines(string(groups)) {
			parts := strings.SplitN(strings.TrimSpace(group), ":", 3)
			if slices.Contains(options, strings.Split(parts[1], ",")[0]) {
				found = append(found, hierarchy{parts[1], at, filepath.Join(at, strings.TrimPrefix(parts[2], from))})
			}
		}
	}
	if len(found) == 0 {
		return nil, errors.New("a test cluster needs cgroups of version 1, and none is mounted here")
	}
	return found, nil
}

// groups are the cgroups of a run, one in each hierarchy.
type groups struct {
	name string
	of   []hierarchy
}

func makeGroups(name string) (groups, error) {
	all, err := hierarchies()
	made := groups{name, all}
	for _, h := range all {
		err = errors.Join(err, h.make(name))
	}
	return made, err
}

func (h hierarchy) make(name string) error {
	if err := os.Mkdir(filepath.Join(h.own, name), 0o755); err != nil {
		return err
	}
	if h.controllers != "cpuset" {
		return nil
	}
	// A new one has no processor, and nothing could run in it.
	for _, file := range []string{"cpuset.cpus", "cpuset.mems"} {
		value, err := os.ReadFile(filepath.Join(h.own, file))
		if err == nil {
			err = os.WriteFile(filepath.Join(h.own, name, file), value, 0)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// enter moves this process into the cgroups, leave moves it out of them.
func (g groups) enter() error { return g.move(g.name) }
func (g groups) leave() error { return g.move("") }

func (g groups) move(name string) (err error) {
	for _, h := range g.of {
		err = errors.Join(err, os.WriteFile(filepath.Join(h.own, name, "cgroup.procs"), []byte("0"), 0))
	}
	return err
}

// remove removes the cgroups, which fails if any process is left in them. The
// kernel may still be busy with the last one for a moment.
func (g groups) remove() error {
	var errs []error
	for _, h := range g.of {
		top, err := filepath.Join(h.own, g.name), error(nil)
		for end := time.Now().Add(10 * time.Second); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
			if err = removeTree(top); err == nil {
				break
			}
		}
		if err != nil {
			left, _ := os.ReadFile(filepath.Join(top, "cgroup.procs"))
			errs = append(errs, fmt.Errorf("processes are left: %w (%q)", err, left))
		}
	}
	return errors.Join(errs...)
}

// removeTree removes a cgroup and those below it, the lowest first.
func removeTree(top string) error {
	var all []string
	err := filepath.WalkDir(top, func(path string, entry fs.DirEntry, err error) error {
		if err == nil && entry.IsDir() {
			all = append(all, path)
		}
		return err
	})
	for _, path := range slices.Backward(all) {
		err = errors.Join(err, os.Remove(path))
	}
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// remount mounts the hierarchies again, so that the roots of this process's
// namespace show: the kubelet then keeps its cgroups below our own.
func remount(all []hierarchy) error {
	for _, h := range all {
		options := h.controllers
		if strings.HasPrefix(options, "name=") {
			options = "none," + options
		}
		err := unix.Unmount(h.at, unix.MNT_DETACH)
		if err == nil {
			err = unix.Mount("cgroup", h.at, "cgroup", 0, options)
		}
		if err != nil {
			return fmt.Errorf("mounting %s anew: %w", h.at, err)
		}
	}
	// No program here is to find the second version, which has no controllers.
	if err := unix.Unmount("/sys/fs/cgroup/unified", unix.MNT_DETACH); err != nil && !errors.Is(err, unix.EINVAL) && !errors.Is(err, unix.ENOENT) {
		return err
	}
	return nil
}
