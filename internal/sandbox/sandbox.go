// Package sandbox says what a session may reach and use: its wall. All policy is made
// here and becomes a Profile, which travels with the start of a worker; the worker
// puts it into force before any code of a user's (pyworker/sandbox/confine.py).
//
// What a session needs first comes first: namespaces, the loopback device and a socket for
// the server's proxy (which can't be opened from outside that network), mounts, Landlock's
// rules by what is visible then, limits, user and capabilities, Landlock, seccomp. What is
// the same for all sessions is a Base, which a spare puts into force before it is
// known whose it is.
//
// What code can change is never resolved: the operator's paths are, once, in New; homes are
// opened without links, here and in confine.py (openat2). Each session has a devpts of its
// own, so the terminal of the server is nobody's to read.
//
// The filter of system calls is moby's list for a process without capabilities, less what a
// session has no use for, as a binary search over the numbers. What is known and not allowed
// gives EPERM; what is unknown (a newer kernel's, x32's, another architecture's), and clone3,
// gives ENOSYS, so that libraries fall back. go-seccomp-bpf gives the numbers alone: its
// assembler (v1.6.0) compares a refused argument with the numbers that follow, so that
// socket(17, …) passed as call 17. Left open on purpose: sched_setaffinity and setpriority by
// process id, seccomp and Landlock themselves, personality for 32 bits, System V IPC and POSIX
// queues (an IPC namespace keeps those apart), setuid bits on own files.
package sandbox

import "time"

// Mode is the value of --sandbox.
type Mode string

// The modes.
const (
	Off      Mode = "off"
	Standard Mode = "standard" // reads the system and Python, writes its own files
	Strict   Mode = "strict"   // namespaces are required, and less of the system is there
)

// Layer is one of the things that a wall is made of.
type Layer string

// The layers, in the order in which they are told.
const (
	Rlimits    Layer = "rlimits"    // limits of each process
	UID        Layer = "uid"        // no root; another user for each session where the server is root
	Landlock   Layer = "landlock"   // which files may be reached
	Seccomp    Layer = "seccomp"    // which system calls there are
	Namespaces Layer = "namespaces" // a file system, a network and shared memory of its own
	Cgroups    Layer = "cgroups"    // limits of all processes together

	SandboxExec Layer = "sandbox-exec" // all there is on macOS
)

// Settings are the operator's choices.
type Settings struct {
	Mode Mode
	// Floor are the layers without which nothing is served.
	Floor []Layer
	// Read and Write are paths that sessions may reach beside what the mode gives.
	Read, Write []string
	// Shared is the directory that all sessions work in, "" if each has its own.
	Shared string
	// Python are the directories that its interpreter and its libraries need.
	Python []string
	// Hidden are directories of the server's own. Sessions with a file system of their
	// own see nothing in them, not even names, but what is theirs.
	Hidden []string
	// Secrets are files and directories of the server's own that no session may read,
	// though they lie where it reads the system. Landlock sees to it.
	Secrets []string
	Network Network
	Limits  Limits
	// GPU are the numbers of the cards that sessions may use, as 0 for /dev/nvidia0, or
	// "all" alone.
	GPU []string

	// Environment is what sessions find beside what every one has.
	Environment map[string]string

	root string // what /dev and /sys are in; tests have made-up ones
}

// Network says what a session may connect to. The zero value is nothing.
type Network struct {
	// All is the network as the server has it.
	All bool
	// Hosts may be reached through the server's proxy, as "pypi.org", "*.example.com"
	// or "localhost:8080".
	Hosts []string
	// Direct is the value of NO_PROXY: what programs connect to by themselves.
	Direct string
}

// Limits are those of one session, its copies and children included. 0 sets none.
type Limits struct {
	Memory    int64         // bytes
	Processes int           // threads count too
	CPUs      float64       // how many processors it may keep busy
	OpenFiles int           // of each process
	FileSize  int64         // bytes of one file
	Disk      int64         // bytes of its working directory and its /tmp
	Output    int64         // bytes that one execution may print
	Poll      time.Duration // between two looks where the kernel doesn't watch; 0 is the usual
}

// LayerState says how one layer stands here.
type LayerState struct {
	Layer  Layer  `json:"layer"`
	Active bool   `json:"active"`
	Detail string `json:"detail"` // what it does here, or why it is not there
}
