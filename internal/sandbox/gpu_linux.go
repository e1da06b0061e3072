package sandbox

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"
)

// AllGPUs is the one value of Settings.GPU that is no card's number.
const AllGPUs = "all"

// What CUDA needs is what NVIDIA's own container toolkit mounts for its capability
// "compute", without the sockets of daemons. /dev/nvidia-modeset is for displays.
const (
	gpuControl = "/dev/nvidiactl"
	gpuMemory  = "/dev/nvidia-uvm"
	gpuTools   = "/dev/nvidia-uvm-tools" // of profilers, and not everywhere
)

var (
	// Those of MIG's instances. The first two change the instances of all.
	gpuInstances = "/dev/nvidia-caps/nvidia-cap*"
	gpuManagers  = []string{"/dev/nvidia-caps/nvidia-cap1", "/dev/nvidia-caps/nvidia-cap2"}
	// What strict does not read otherwise. /proc/driver/nvidia is read in every mode.
	ofGPU = []string{"/opt/cuda", "/sys/bus/pci/devices", "/sys/bus/pci/drivers/nvidia/*:*", "/sys/module/nvidia*"}
)

// gpu is what CUDA needs beside what all sessions have.
type gpu struct {
	devices []string // the nodes that may be opened; none without --gpu
	read    []string
}

// newGPU finds the cards that the settings name. Sessions of others are of other users
// than the server's.
func newGPU(settings Settings, others bool) (g gpu, err error) {
	if len(settings.GPU) == 0 {
		return g, nil
	}
	at := func(path string) string { return filepath.Join("/", settings.root, path) }
	cards := cardsIn(settings.root)
	if _, err := os.Stat(at(gpuControl)); err != nil || len(cards) == 0 {
		return g, fmt.Errorf("gpu: no NVIDIA card is here (it would be %s and %s): load its driver, start the container with its cards (docker run --gpus all), or leave --gpu out", at(gpuControl), at("/dev/nvidia0"))
	}
	wanted := settings.GPU
	if slices.Contains(wanted, AllGPUs) {
		wanted = cards
		found, _ := filepath.Glob(at(gpuInstances)) // it only fails for a bad pattern
		g.devices = slices.DeleteFunc(found, func(path string) bool {
			return slices.ContainsFunc(gpuManagers, func(name string) bool { return at(name) == path })
		})
	}
	needed := []string{at(gpuControl), at(gpuMemory)}
	for _, card := range wanted {
		if !slices.Contains(cards, card) {
			return g, fmt.Errorf("gpu: there is no card %s (%s); name some of %s, or all", card, at("/dev/nvidia"+card), strings.Join(cards, ", "))
		}
		needed = append(needed, at("/dev/nvidia"+card))
	}
	if _, err := os.Stat(at(gpuMemory)); err != nil {
		return g, fmt.Errorf("gpu: there is no %s, which CUDA needs; load it (nvidia-modprobe -u -c 0), or leave --gpu out", at(gpuMemory))
	}
	for _, path := range needed {
		if mode, can := usable(path, others); !can {
			return g, fmt.Errorf("gpu: code in the sandbox runs as a user who may not open %s (its mode is %v); let that user read and write it (the driver's module has NVreg_DeviceFileMode=0666 for it), or leave --gpu out", path, mode)
		}
	}
	g.devices = present(slices.Concat(needed, []string{at(gpuTools)}, g.devices))
	for _, pattern := range ofGPU {
		found, _ := filepath.Glob(at(pattern))
		g.read = append(g.read, found...)
	}
	g.read = existing(g.read)
	return g, nil
}

// cardsIn returns the numbers of the cards whose nodes are there.
func cardsIn(root string) (cards []string) {
	nodes, _ := filepath.Glob(filepath.Join("/", root, "/dev/nvidia[0-9]*"))
	for _, node := range nodes {
		cards = append(cards, strings.TrimPrefix(filepath.Base(node), "nvidia"))
	}
	return cards
}

// usable returns a node's mode, and whether sessions get by it.
func usable(path string, others bool) (mode fs.FileMode, can bool) {
	if info, err := os.Stat(path); err == nil {
		mode = info.Mode()
	}
	if others {
		return mode, mode.Perm()&0o006 == 0o006
	}
	return mode, unix.Access(path, unix.R_OK|unix.W_OK) == nil
}

// withheld are the nodes that are not to be opened. Rules of Landlock leave them out
// anyway.
func (w *Wall) withheld() (paths []string) {
	for _, pattern := range []string{"/dev/nvidia*", "/dev/nvidia-caps/*"} {
		found, _ := filepath.Glob(filepath.Join("/", w.settings.root, pattern))
		for _, path := range found {
			if info, err := os.Lstat(path); err == nil && !info.IsDir() && !slices.Contains(w.gpu.devices, path) {
				paths = append(paths, path)
			}
		}
	}
	return paths
}

// GPU says which nodes of cards are here, and which of them a session may open.
func (w *Wall) GPU() string {
	if len(w.gpu.devices) > 0 {
		return "code in the sandbox may open " + strings.Join(w.gpu.devices, ", ")
	}
	here := w.withheld()
	if len(here) == 0 {
		return "no NVIDIA card is here"
	}
	said := fmt.Sprintf("code in the sandbox may open none of %s (--gpu none)", strings.Join(here, ", "))
	if _, err := newGPU(Settings{GPU: []string{AllGPUs}, root: w.settings.root}, w.users.active()); err != nil {
		said += "; with --gpu all the server would not start: " + strings.TrimPrefix(err.Error(), "gpu: ")
	}
	return said
}
