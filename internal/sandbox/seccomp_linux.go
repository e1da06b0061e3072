package sandbox

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"

	elastic "github.com/elastic/go-seccomp-bpf"
	"github.com/elastic/go-seccomp-bpf/arch"
	moby "github.com/moby/profiles/seccomp"
	"github.com/opencontainers/runtime-spec/specs-go"
	"golang.org/x/net/bpf"
	"golang.org/x/sys/unix"
)

// filter returns the seccomp filter of sessions: an array of struct sock_filter in
// this machine's byte order, as seccomp(2) and PR_SET_SECCOMP take it. inet says
// whether there may be sockets of the internet families.
//
// It is a list of what is allowed. A call that is known and not on it fails with
// EPERM. One that this program doesn't know, as a new kernel's, fails with ENOSYS, as
// on an older kernel, so that libraries do without it. The calls of another
// architecture or its 32-bit kin fail too.
//
// The error says that the architecture has no table of system calls here.
func filter(inet bool) ([]byte, error) {
	return filters[inet]()
}

var filters = map[bool]func() ([]byte, error){
	false: sync.OnceValues(func() ([]byte, error) { return makeFilter(false) }),
	true:  sync.OnceValues(func() ([]byte, error) { return makeFilter(true) }),
}

func makeFilter(inet bool) ([]byte, error) {
	instructions, err := assembleFilter(inet)
	if err != nil {
		return nil, fmt.Errorf("seccomp: %w", err)
	}
	raw, err := bpf.Assemble(instructions)
	if err != nil {
		return nil, fmt.Errorf("seccomp: %w", err)
	}
	// A RawInstruction has the layout of a struct sock_filter.
	var program bytes.Buffer
	err = binary.Write(&program, binary.NativeEndian, raw)
	return program.Bytes(), err
}

func assembleFilter(inet bool) ([]bpf.Instruction, error) {
	info, err := arch.GetInfo("")
	if err != nil {
		return nil, err
	}
	usual, err := usualCalls()
	if err != nil {
		return nil, err
	}
	policy := policyOf(info, usual, inet)
	allowed, err := policy.Assemble()
	if err != nil {
		return nil, err
	}
	return append(refuseFirst(info), allowed...), nil
}

// usualCalls returns the system calls that Docker allows a process without any
// capability, whatever their arguments are.
func usualCalls() ([]string, error) {
	profile, err := moby.GetDefaultProfile(&specs.Spec{
		Process: &specs.Process{Capabilities: &specs.LinuxCapabilities{}},
	})
	if err != nil {
		return nil, err
	}
	if profile == nil || len(profile.Syscalls) == 0 {
		return nil, errors.New("the list of usual system calls is empty")
	}
	var names []string
	for _, group := range profile.Syscalls {
		if group.Action == specs.ActAllow && len(group.Args) == 0 {
			names = append(names, group.Names...)
		}
	}
	return names, nil
}

// unneeded are the calls that Docker allows and a session has no use for.
var unneeded = []string{
	// Another process's memory, and what is done to it.
	"ptrace", "process_vm_readv", "process_vm_writev", "process_mrelease",
	// Half of a way around the file system's paths.
	"name_to_handle_at",
	// Useless without calls that are refused, or for the sake of an attack only.
	"fanotify_mark", "modify_ldt", "memfd_secret",
	// The clock; reading it has calls of its own.
	"adjtimex", "clock_adjtime",
}

// policyOf says which calls are allowed, usual being those that may be.
func policyOf(info *arch.Info, usual []string, inet bool) elastic.Policy {
	conditional := conditionalCalls(inet)
	names := map[string]bool{}
	for _, name := range usual {
		_, known := info.SyscallNames[name]
		names[name] = known
	}
	for _, name := range unneeded {
		names[name] = false
	}
	for _, call := range conditional {
		names[call.Name] = false
	}
	maps.DeleteFunc(names, func(_ string, allowed bool) bool { return !allowed })
	return elastic.Policy{
		DefaultAction: elastic.ActionErrno, // EPERM; for another architecture too
		Syscalls: []elastic.SyscallGroup{
			{Action: elastic.ActionAllow, NamesWithCondtions: conditional},
			// The kernel remembers what becomes of these without running the filter.
			{Action: elastic.ActionAllow, Names: slices.Sorted(maps.Keys(names))},
			// Its arguments are in memory, which a filter can't read. Without it libc
			// uses clone.
			{Action: elastic.ActionErrno | elastic.Action(unix.ENOSYS), Names: []string{"clone3"}},
		},
	}
}

// namespaceFlags are those of clone that make a namespace. CLONE_NEWTIME is none of
// them: clone takes it for a part of a signal's number.
const namespaceFlags = unix.CLONE_NEWNS | unix.CLONE_NEWCGROUP | unix.CLONE_NEWUTS |
	unix.CLONE_NEWIPC | unix.CLONE_NEWUSER | unix.CLONE_NEWPID | unix.CLONE_NEWNET

// conditionalCalls returns the calls that are allowed with some arguments only. All
// conditions of an entry must hold; entries of the same name are alternatives.
func conditionalCalls(inet bool) []elastic.NameWithConditions {
	calls := []elastic.NameWithConditions{
		// A brother, as CLONE_PARENT makes it, would be a child of the server's.
		when("clone", noBits(0, namespaceFlags|unix.CLONE_PARENT)),
		when("socket", equal(0, unix.AF_UNIX)),
		when("socketpair", equal(0, unix.AF_UNIX)),
		// One's own limits, and reading those of others.
		when("prlimit64", equal(0, 0)),
		when("prlimit64", equal(2, 0)),
		// Not those of all of a user's processes.
		when("setpriority", atMost(0, unix.PRIO_PGRP)),
		when("ioprio_set", equal(0, ioprioWhoProcess)),
		// sched_setaffinity is not here: libraries call it with a thread's id.
		when("sched_setscheduler", equal(0, 0)),
		when("sched_setparam", equal(0, 0)),
		when("sched_setattr", equal(0, 0)),
	}
	for _, personality := range []uint64{0, addrLimit32Bit, uname26, addrLimit32Bit | uname26, askPersonality} {
		calls = append(calls, when("personality", equal(0, personality)))
	}
	if inet {
		calls = append(calls, internetSockets()...)
	}
	return calls
}

// What x/sys/unix has no names for.
const (
	ioprioWhoProcess = 1
	addrLimit32Bit   = 0x8
	uname26          = 0x20000
	askPersonality   = 0xffffffff
)

// internetSockets allows TCP, UDP and ping, and the netlink socket by which libc finds
// out which addresses the machine has. Raw sockets are not among them, nor are
// protocols that hardly anybody uses, whose code in the kernel is the less tried.
func internetSockets() []elastic.NameWithConditions {
	const flags = unix.SOCK_CLOEXEC | unix.SOCK_NONBLOCK
	calls := []elastic.NameWithConditions{
		when("socket", equal(0, unix.AF_NETLINK), equal(2, unix.NETLINK_ROUTE)),
	}
	for _, family := range []uint64{unix.AF_INET, unix.AF_INET6} {
		for _, kind := range []uint64{unix.SOCK_STREAM, unix.SOCK_DGRAM} {
			calls = append(calls, when("socket",
				equal(0, family), noBits(1, ^(kind|flags)), atMost(2, unix.IPPROTO_ICMPV6)))
		}
	}
	return calls
}

func when(name string, conditions ...elastic.Condition) elastic.NameWithConditions {
	return elastic.NameWithConditions{Name: name, Conditions: conditions}
}

// The conditions are about all 64 bits of an argument. The kernel looks at 32 of many:
// what says that bits are not as they usually are must allow nothing.

func equal(argument uint32, value uint64) elastic.Condition {
	return elastic.Condition{Argument: argument, Operation: elastic.Equal, Value: value}
}

func atMost(argument uint32, value uint64) elastic.Condition {
	return elastic.Condition{Argument: argument, Operation: elastic.LessOrEqual, Value: value}
}

func noBits(argument uint32, bits uint64) elastic.Condition {
	return elastic.Condition{Argument: argument, Operation: elastic.BitsNotSet, Value: bits}
}

// refused are arguments, 32 bits wide, with which a call that is allowed is not.
var refused = []struct {
	name     string
	argument uint32
	value    uint32
}{
	{"ioctl", 1, unix.TIOCSTI},   // typing into the terminal of whoever started the server
	{"ioctl", 1, unix.TIOCLINUX}, // the same on a console, by its clipboard
	{"kill", 0, ^uint32(0)},      // all processes of the user
}

// The places of struct seccomp_data.
const (
	numberOffset    = 0
	argumentsOffset = 16
	argumentSize    = 8
	lowHalf         = 0 // of the 64 bits of an argument: both architectures are little-endian
)

// refuseFirst returns the instructions that come first, which only refuse: calls that
// nobody knew when this was written, x32's among them, and the refused arguments. They
// look at the low half of an argument alone, as the kernel does; a list of what is
// allowed could be passed with something in the high half.
func refuseFirst(info *arch.Info) []bpf.Instruction {
	last := slices.Max(slices.Collect(maps.Keys(info.SyscallNumbers)))
	loadNumber := bpf.LoadAbsolute{Off: numberOffset, Size: 4}
	program := []bpf.Instruction{
		loadNumber,
		bpf.JumpIf{Cond: bpf.JumpGreaterThan, Val: uint32(last), SkipFalse: 1},
		refuse(unix.ENOSYS),
	}
	for _, r := range refused {
		program = append(program,
			bpf.JumpIf{Cond: bpf.JumpNotEqual, Val: uint32(info.SyscallNames[r.name]), SkipTrue: 4},
			bpf.LoadAbsolute{Off: argumentsOffset + argumentSize*r.argument + lowHalf, Size: 4},
			bpf.JumpIf{Cond: bpf.JumpNotEqual, Val: r.value, SkipTrue: 1},
			refuse(unix.EPERM),
			loadNumber,
		)
	}
	return program
}

func refuse(errno unix.Errno) bpf.RetConstant {
	return bpf.RetConstant{Val: unix.SECCOMP_RET_ERRNO | uint32(errno)}
}
