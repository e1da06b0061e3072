package kubernetes

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"understudy/internal/check"
)

var must, expect, insist = check.Must, check.Expect, check.Insist

const (
	// programsName is the environment variable that names the folder of built programs.
	programsName = "UNDERSTUDY_KUBERNETES"
	// runName names the folder of this run, and with it says that the process is
	// in the namespaces.
	runName = "UNDERSTUDY_KUBERNETES_RUN"
)

// root is the way from here to the top of the project.
const root = "../../../"

func TestMain(m *testing.M) {
	var err error
	switch {
	case os.Getenv(programsName) == "":
		os.Exit(m.Run())
	case os.Getenv(runName) == "":
		err = runOutside()
	case os.Getpid() == 1:
		err = runAsInit(os.Getenv(runName))
	default:
		os.Exit(m.Run())
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// runOutside runs the tests in new namespaces and checks that nothing is left of them.
func runOutside() error {
	dir, err := os.MkdirTemp("", "understudy-kubernetes-")
	if err != nil {
		return err
	}
	build := exec.Command("go", "build", "-o", filepath.Join(dir, "understudy"), ".")
	build.Dir = root
	build.Env = append(os.Environ(), "CGO_ENABLED=0") // an image needs no C library for it then
	if said, err := build.CombinedOutput(); err != nil {
		return errors.Join(fmt.Errorf("building understudy: %w\n%s", err, said), os.RemoveAll(dir))
	}
	groups, err := makeGroups(filepath.Base(dir))
	if err != nil {
		return errors.Join(err, groups.remove(), os.RemoveAll(dir))
	}
	before := touched()
	ran := runInside(dir, groups)
	if ran != nil {
		ran = errors.Join(ran, keepLogs(dir))
	}
	return errors.Join(ran, groups.remove(), checkMounts(dir), os.RemoveAll(dir), compare(before, touched()))
}

// keepLogs keeps what the parts of a cluster have logged, instead of those of an earlier run.
func keepLogs(dir string) error {
	kept := filepath.Join(os.Getenv(programsName), "logs")
	fmt.Fprintln(os.Stderr, "the logs of the cluster's parts are in", kept)
	return errors.Join(os.RemoveAll(kept), os.CopyFS(kept, os.DirFS(filepath.Join(dir, "logs"))))
}

// runInside starts this program again in new namespaces and cgroups, and waits for
// its end. It ends with this process, however that ends.
func runInside(dir string, groups groups) error {
	runtime.LockOSThread() // the kernel takes the end of this thread for that of the parent
	defer runtime.UnlockOSThread()
	interrupted, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	cmd := exec.CommandContext(interrupted, "/proc/self/exe", os.Args[1:]...)
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	cmd.Env = append(os.Environ(), runName+"="+dir)
	cmd.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags: unix.CLONE_NEWCGROUP | unix.CLONE_NEWNET | unix.CLONE_NEWNS | unix.CLONE_NEWPID,
		Pdeathsig:  syscall.SIGKILL,
	}
	if err := groups.enter(); err != nil {
		return errors.Join(err, groups.leave())
	}
	started := cmd.Start()
	if err := errors.Join(started, groups.leave()); err != nil {
		return err
	}
	return cmd.Wait()
}

// checkMounts reports mounts that a run has left behind on the machine.
func checkMounts(dir string) error {
	mounts, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		return err
	}
	if strings.Contains(string(mounts), dir) {
		return fmt.Errorf("mounts are left below %s:\n%s", dir, mounts)
	}
	return nil
}

// touched is what Kubernetes and containerd would change on a machine if they
// weren't held off: files, and the kernel's settings.
func touched() map[string]string {
	found := map[string]string{}
	home, _ := os.UserHomeDir()
	for _, place := range []string{"/run/containerd", "/run/netns", "/var/lib/cni", "/var/lib/containerd", "/var/lib/kubelet",
		"/var/log/containers", "/var/log/pods", "/etc/cni", "/opt/containerd", filepath.Join(home, ".kube")} {
		_ = filepath.WalkDir(place, func(path string, _ os.DirEntry, err error) error {
			if err == nil {
				found[path] = "there"
			}
			return nil // what isn't there before must not be there after
		})
	}
	for setting := range kernelSettings {
		value, _ := os.ReadFile(setting)
		found[setting] = strings.TrimSpace(string(value))
	}
	links, _ := os.ReadDir("/sys/class/net")
	for _, link := range links {
		found["network interface "+link.Name()] = "there"
	}
	return found
}

// compare reports what is another way after a run.
func compare(before, after map[string]string) error {
	var changed []error
	for what, value := range after {
		if before[what] != value {
			changed = append(changed, fmt.Errorf("a run has changed %s from %q to %q", what, before[what], value))
		}
	}
	return errors.Join(changed...)
}
