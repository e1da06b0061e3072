package sandbox

import (
	"fmt"
	"runtime"
)

// Layers says of each layer how it stands here.
func (w *Wall) Layers() []LayerState {
	if w == nil {
		return nil
	}
	if runtime.GOOS == "darwin" {
		return []LayerState{{SandboxExec, true, "files, network and signals, by a profile around each interpreter; nobody has tried it on a Mac yet"}}
	}
	return []LayerState{
		{Rlimits, true, "limits of each process"},
		w.userLayer(),
		w.landlockLayer(),
		state(Seccomp, w.host.NoSeccomp, "an allow-list of system calls"),
		w.namespaceLayer(),
		state(Cgroups, w.host.NoCgroups, "the kernel watches memory, processes and processors of all processes together"),
	}
}

// state describes a layer that is there unless something stands against it.
func state(layer Layer, obstacle, detail string) LayerState {
	if obstacle != "" {
		return LayerState{layer, false, obstacle}
	}
	return LayerState{layer, true, detail}
}

func (w *Wall) userLayer() LayerState {
	switch {
	case w.users.shared.user != 0:
		return LayerState{UID, true, fmt.Sprintf("the server is root: all interpreters run as user %d, whom their shared directory belongs to", w.users.shared.user)}
	case w.users.active():
		return LayerState{UID, true, "the server is root: each interpreter has a user of its own"}
	}
	return LayerState{UID, true, "code runs as the server's own user, which is not root"}
}

func (w *Wall) landlockLayer() LayerState {
	version := w.host.Landlock
	switch {
	case version == 0:
		return LayerState{Landlock, false, "this kernel has none (Linux 5.13 and newer do, unless it is switched off)"}
	case version < 6:
		return LayerState{Landlock, true, fmt.Sprintf("version %d: files, and memory and environment of others", version)}
	}
	return LayerState{Landlock, true, fmt.Sprintf("version %d: files, memory, environment and signals of others", version)}
}

func (w *Wall) namespaceLayer() LayerState {
	if !w.namespaced() {
		return LayerState{Namespaces, false, w.host.NoNamespaces}
	}
	detail := "a file system, a /tmp, shared memory and a network of its own"
	if w.settings.Network.All {
		detail = "a file system, a /tmp and shared memory of its own"
	}
	return LayerState{Namespaces, true, detail}
}

// Open says in sentences what is open, of what the wall should close.
func (w *Wall) Open() (open []string) {
	if w == nil {
		return []string{"everything that the server's user may do"}
	}
	if runtime.GOOS == "darwin" {
		return []string{"limits of all processes together; a user of its own; shared memory of others whose name is known; hosts of --allow-net, which can't be reached"}
	}
	add := func(when bool, sentence string) {
		if when {
			open = append(open, sentence)
		}
	}
	confined, apart := w.host.Landlock > 0, w.users.apart()
	add(!confined && !w.namespaced(), "all files that the user of an interpreter may read or write")
	add(!confined && w.namespaced(), "reading of files outside home directories that are for everybody to read")
	add(!confined && !apart, "memory, environment and files of other interpreters")
	add(!apart && w.host.Landlock < 6, "signals to other interpreters and to the server, which have the same user")
	add(!apart, "how fast other interpreters run: the processors that they may use can be changed")
	add(!apart && w.host.NoSeccomp != "", "processes that get away from limits and from the end of their interpreter")
	add(!w.namespaced(), "connections to Unix sockets whose path is known; names and modes of files anywhere; shared memory of others")
	add(w.namespaced() && !apart && w.host.Landlock < 9, "connections to Unix sockets outside of /run, /tmp and home directories, if the server's user may open them")
	add(!w.namespaced() && !apart, "changing the mode, owner and times of files that the server's user owns")
	add(!w.users.active() || w.host.NoProc != "", "the command lines of other processes, and by way of them the machine's addresses and open connections")
	add(!w.terminals() && confined, "nothing of terminals: they can't be told from those of the server's user, so there are none, as pty.openpty would make")
	add(!w.terminals() && !confined, "the terminals of the server's user")
	add(w.host.NoSeccomp != "", "all system calls of the kernel, those for the network among them unless there are namespaces")
	add(w.settings.Network.All, "the network, this machine's own services among it (--allow-net all)")
	add(len(w.settings.Network.Hosts) > 0 && !w.namespaced(), "nothing of --allow-net: its hosts can't be told apart without a network namespace, so there is no network at all")
	gpu := len(w.settings.GPU) > 0
	add(gpu, "the driver of the cards, which is a large part of the kernel, and all of their memory: no limit counts it (--gpu)")
	add(gpu && w.host.NoCgroups != "", "memory that belongs to no process (memfd_create): without cgroups no limit counts it (--gpu)")
	add(gpu && confined && !apart, "what may be set of other processes of the server's user in /proc, as which of them the kernel ends first (--gpu)")
	return open
}

// terminals reports whether sessions may have terminals. Elsewhere those of the server's
// user can't be told from them.
func (w *Wall) terminals() bool { return w.namespaced() || w.users.apart() }

// Networked reports whether sessions reach hosts through the proxy.
func (w *Wall) Networked() bool {
	return w != nil && w.namespaced() && len(w.settings.Network.Hosts) > 0 && !w.settings.Network.All
}
