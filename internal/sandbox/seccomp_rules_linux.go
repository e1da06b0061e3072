package sandbox

import (
	"golang.org/x/net/bpf"
	"golang.org/x/sys/unix"
)

// answer is what becomes of a system call: instructions that end with a verdict,
// whatever the arguments are. They need nothing in the accumulator.
type answer []bpf.Instruction

var (
	allowed = answer{bpf.RetConstant{Val: unix.SECCOMP_RET_ALLOW}}
	refused = answer{bpf.RetConstant{Val: unix.SECCOMP_RET_ERRNO | uint32(unix.EPERM)}}
	missing = answer{bpf.RetConstant{Val: unix.SECCOMP_RET_ERRNO | uint32(unix.ENOSYS)}}
)

// The places of struct seccomp_data. Both architectures are little-endian.
const (
	numberOffset    = 0
	archOffset      = 4
	argumentsOffset = 16
	argumentSize    = 8
	highHalf        = 4
)

// alternative are conditions that allow a call if they all hold.
type alternative []condition

// condition is one about 32 bits of an argument.
type condition struct {
	offset uint32
	test   bpf.JumpTest
	value  uint32
	// ignored are the bits that the test does not see.
	ignored uint32
}

// ifAny allows what one of the alternatives allows and refuses the rest.
func ifAny(alternatives []alternative) answer {
	var program answer
	for _, conditions := range alternatives {
		left := 3*len(conditions) + len(allowed)
		for _, c := range conditions {
			left -= 3
			program = append(program,
				bpf.LoadAbsolute{Off: c.offset, Size: 4},
				bpf.ALUOpConstant{Op: bpf.ALUOpAnd, Val: ^c.ignored},
				bpf.JumpIf{Cond: c.test, Val: c.value, SkipFalse: uint8(left)})
		}
		program = append(program, allowed...)
	}
	return append(program, refused...)
}

// all makes an alternative of conditions.
func all(conditions ...[]condition) alternative {
	var joined alternative
	for _, some := range conditions {
		joined = append(joined, some...)
	}
	return joined
}

// The kernel looks at the low half of many arguments only. What allows must therefore
// see that the high half is as it usually is, or else ask nothing but the low half.

func equal(argument uint32, value uint64) []condition {
	return both(argument, bpf.JumpEqual, value)
}

func noBits(argument uint32, bits uint64) []condition {
	return both(argument, bpf.JumpBitsNotSet, bits)
}

func atMost(argument, value uint32) []condition {
	offset := argumentsOffset + argumentSize*argument
	return []condition{
		{offset: offset + highHalf, test: bpf.JumpEqual}, {offset: offset, test: bpf.JumpLessOrEqual, value: value},
	}
}

// lowNot asks nothing of the high half.
func lowNot(argument, value uint32) []condition {
	return maskedNot(argument, ^uint32(0), value)
}

// maskedNot asks nothing of the bits that are not in the mask.
func maskedNot(argument, mask, value uint32) []condition {
	return []condition{{argumentsOffset + argumentSize*argument, bpf.JumpNotEqual, value, ^mask}}
}

func both(argument uint32, test bpf.JumpTest, value uint64) []condition {
	offset := argumentsOffset + argumentSize*argument
	return []condition{
		{offset: offset + highHalf, test: test, value: uint32(value >> 32)}, {offset: offset, test: test, value: uint32(value)},
	}
}

// namespaceFlags are those of clone that make a namespace. CLONE_NEWTIME is none of
// them: clone takes it for a part of a signal's number.
const namespaceFlags = unix.CLONE_NEWNS | unix.CLONE_NEWCGROUP | unix.CLONE_NEWUTS |
	unix.CLONE_NEWIPC | unix.CLONE_NEWUSER | unix.CLONE_NEWPID | unix.CLONE_NEWNET

// What x/sys/unix has no names for.
const (
	ioprioWhoProcess = 1
	addrLimit32Bit   = 0x8
	uname26          = 0x20000
	askPersonality   = 0xffffffff
	// pidfdGetInfo is the type and the number of PIDFD_GET_INFO (Linux 6.13), which the
	// kernel takes with any size and direction.
	pidfdGetInfo = 0xff0b
)

// conditionalCalls returns the calls that are allowed with some arguments only.
func conditionalCalls(l liberties) map[string][]alternative {
	self := []alternative{equal(0, 0)}
	calls := map[string][]alternative{
		// A brother, as CLONE_PARENT makes it, would be a child of the server's.
		"clone":      {noBits(0, namespaceFlags|unix.CLONE_PARENT)},
		"socketpair": {equal(0, unix.AF_UNIX)},
		"socket":     {equal(0, unix.AF_UNIX)},
		// Typing into the terminal from which the server was started, also by a
		// console's clipboard. And who a stranger's parent and user are: a filter can't see
		// whose a pidfd is, and nothing in a session asks that of its own children.
		"ioctl": {all(lowNot(1, unix.TIOCSTI), lowNot(1, unix.TIOCLINUX), maskedNot(1, 0xffff, pidfdGetInfo))},
		// -1 is all processes of the user.
		"kill": {lowNot(0, ^uint32(0))},
		// One's own limits, but for the one by which the server tells whose a process is,
		// and reading those of others.
		"prlimit64": {all(equal(0, 0), lowNot(1, unix.RLIMIT_LOCKS)), equal(2, 0)},
		"setrlimit": {lowNot(0, unix.RLIMIT_LOCKS)},
		// One's own, and not those of all of a user's processes, nor of a group: a process may
		// join that of another session.
		"setpriority": {all(equal(0, unix.PRIO_PROCESS), equal(1, 0))},
		"ioprio_set":  {all(equal(0, ioprioWhoProcess), equal(1, 0))},
		// sched_setaffinity is not here: libraries call it with a thread's id.
		"sched_setscheduler": self, "sched_setparam": self, "sched_setattr": self,
	}
	for _, personality := range []uint64{0, addrLimit32Bit, uname26, addrLimit32Bit | uname26, askPersonality} {
		calls["personality"] = append(calls["personality"], equal(0, personality))
	}
	if l.untag {
		calls["prlimit64"], calls["setrlimit"] = []alternative{equal(0, 0), equal(2, 0)}, []alternative{{}}
	}
	if l.renice {
		calls["setpriority"] = []alternative{atMost(0, unix.PRIO_PGRP)}
		calls["ioprio_set"] = []alternative{equal(0, ioprioWhoProcess)}
	}
	if l.memfd {
		calls["memfd_create"] = []alternative{{}}
	}
	if l.inet {
		calls["socket"] = append(calls["socket"], internetSockets()...)
	}
	return calls
}

// internetSockets allows TCP, UDP and ping, and the netlink socket by which libc finds
// out which addresses the machine has. Raw sockets are not among them, nor are
// protocols that hardly anybody uses, whose code in the kernel is the less tried.
func internetSockets() []alternative {
	const flags = unix.SOCK_CLOEXEC | unix.SOCK_NONBLOCK
	alternatives := []alternative{all(equal(0, unix.AF_NETLINK), equal(2, unix.NETLINK_ROUTE))}
	for _, family := range []uint64{unix.AF_INET, unix.AF_INET6} {
		for _, kind := range []uint64{unix.SOCK_STREAM, unix.SOCK_DGRAM} {
			alternatives = append(alternatives,
				all(equal(0, family), noBits(1, ^(kind|flags)), atMost(2, unix.IPPROTO_ICMPV6)))
		}
	}
	return alternatives
}
