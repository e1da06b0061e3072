package kubernetes

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// The addresses of the node, and of the API server's service, which is on the
// node too: pods reach it where they expect it, and no proxy is needed.
const (
	nodeAddress    = "10.123.0.1"
	serviceAddress = "10.96.0.1"
)

// kernelSettings are those that the kubelet wants, and would set for the whole
// machine.
var kernelSettings = map[string]string{
	"/proc/sys/vm/overcommit_memory":      "1",
	"/proc/sys/vm/panic_on_oom":           "0",
	"/proc/sys/kernel/panic":              "10",
	"/proc/sys/kernel/panic_on_oops":      "1",
	"/proc/sys/kernel/keys/root_maxkeys":  "1000000",
	"/proc/sys/kernel/keys/root_maxbytes": "25000000",
}

// runAsInit makes the namespaces a node's, runs the tests in them, and collects
// whoever has lost its parent, as process 1 must. Its end is everybody's.
func runAsInit(dir string) error {
	if err := errors.Join(mountAll(dir), connectNode()); err != nil {
		return err
	}
	tests, err := os.StartProcess("/proc/self/exe", os.Args, &os.ProcAttr{Files: []*os.File{os.Stdin, os.Stdout, os.Stderr}})
	if err != nil {
		return err
	}
	for {
		var status syscall.WaitStatus
		pid, err := syscall.Wait4(-1, &status, 0, nil)
		switch {
		case errors.Is(err, syscall.EINTR):
		case err != nil:
			return err
		case pid == tests.Pid && status.Signaled():
			return fmt.Errorf("the tests ended by the signal %v", status.Signal())
		case pid == tests.Pid:
			os.Exit(status.ExitStatus())
		}
	}
}

// mountAll mounts what a node needs, and covers what its programs would change
// or leave behind on the machine.
func mountAll(dir string) error {
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		return err
	}
	all, err := hierarchies()
	if err != nil {
		return err
	}
	if err := errors.Join(unix.Mount("proc", "/proc", "proc", 0, ""), remount(all), coverSettings(dir)); err != nil {
		return err
	}
	return errors.Join(
		cover("/var/lib", dir), cover("/var/log", dir),
		unix.Mount("tmpfs", "/run", "tmpfs", 0, "mode=0755"),
		// What the kubelet mounts for a pod must be seen by it.
		unix.Mount("", "/", "", unix.MS_REC|unix.MS_SHARED, ""))
}

// cover has what is written to a directory go to the folder of this run.
func cover(path, dir string) error {
	upper, work := filepath.Join(dir, "covers", path, "upper"), filepath.Join(dir, "covers", path, "work")
	if err := errors.Join(os.MkdirAll(upper, 0o755), os.MkdirAll(work, 0o755)); err != nil {
		return err
	}
	return unix.Mount("overlay", path, "overlay", 0, "lowerdir="+path+",upperdir="+upper+",workdir="+work)
}

// coverSettings binds files with the values that the kubelet wants over the
// kernel's settings.
func coverSettings(dir string) error {
	for setting, value := range kernelSettings {
		file := filepath.Join(dir, "settings", strings.ReplaceAll(setting, "/", "_"))
		err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o755), os.WriteFile(file, []byte(value+"\n"), 0o644))
		if err == nil {
			err = unix.Mount(file, setting, "", unix.MS_BIND, "")
		}
		if err != nil {
			return fmt.Errorf("covering %s: %w", setting, err)
		}
	}
	return nil
}

// connectNode gives the node a network with nobody else in it.
func connectNode() error {
	for _, command := range []string{
		"link set lo up",
		"address add " + serviceAddress + "/32 dev lo",
		"link add node0 type bridge",
		"address add " + nodeAddress + "/24 dev node0",
		"link set node0 up",
		"route add default dev node0",
	} {
		if said, err := exec.Command("ip", strings.Fields(command)...).CombinedOutput(); err != nil {
			return fmt.Errorf("ip %s: %w: %s", command, err, said)
		}
	}
	return nil
}
