package sandbox

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"runtime"
	"slices"
	"sync"

	"github.com/elastic/go-seccomp-bpf/arch"
	"github.com/moby/profiles/seccomp"
	"github.com/opencontainers/runtime-spec/specs-go"
	"golang.org/x/net/bpf"
)

// filter returns the seccomp filter of sessions: an array of struct sock_filter in
// this machine's byte order, as seccomp(2) and PR_SET_SECCOMP take it.
//
// It is a list of what is allowed. A call that is known and not on it fails with
// EPERM. One that this program doesn't know, as a new kernel's, fails with ENOSYS, as
// on an older kernel, so that libraries do without it; so do the calls of another
// architecture, as those that int 0x80 makes.
//
// The error says that there is none for this architecture.
func filter(l liberties) ([]byte, error) {
	made, _ := filters.LoadOrStore(l, sync.OnceValues(func() ([]byte, error) { return makeFilter(l) }))
	return made.(func() ([]byte, error))()
}

var filters sync.Map // by liberties

// liberties are what some walls allow and some don't.
type liberties struct {
	inet   bool // sockets of the internet families
	renice bool // priorities of other processes: those of the same user are its own
	untag  bool // the limit by which the server knows its own processes (RLIMIT_LOCKS)
	memfd  bool // memory without a name, which CUDA doesn't start without
}

func makeFilter(l liberties) ([]byte, error) {
	if !slices.Contains([]string{"amd64", "arm64"}, runtime.GOARCH) {
		// Elsewhere one call may stand for many, as socketcall does on 386.
		return nil, fmt.Errorf("there is no list of system calls for %s", runtime.GOARCH)
	}
	info, err := arch.GetInfo("")
	if err != nil {
		return nil, err
	}
	usual, err := usualCalls()
	if err != nil {
		return nil, err
	}
	return encode(assembleFilter(info, answersTo(info, usual, conditionalCalls(l))))
}

// encode writes the program down as the kernel takes it.
func encode(program []bpf.Instruction) ([]byte, error) {
	raw, err := bpf.Assemble(program)
	if err != nil {
		return nil, fmt.Errorf("assembling the filter: %w", err)
	}
	var written bytes.Buffer
	// A RawInstruction has the layout of a struct sock_filter.
	err = binary.Write(&written, binary.NativeEndian, raw)
	return written.Bytes(), err
}

// usualCalls returns the system calls that Docker allows a process without any
// capability, whatever their arguments are.
func usualCalls() ([]string, error) {
	profile, err := seccomp.GetDefaultProfile(&specs.Spec{
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
	// Memory that belongs to no process, which no limit but a cgroup's sees, and which
	// sessions share where they have no namespace for it. /dev/shm does for both.
	"memfd_create", "shmget", "msgget", "semget",
	// The clock; reading it has calls of its own.
	"adjtimex", "clock_adjtime",
}

// answersTo returns what each known call is answered, by its number.
func answersTo(info *arch.Info, usual []string, conditional map[string][]alternative) map[int]answer {
	answers := map[int]answer{}
	for number := range info.SyscallNumbers {
		answers[number] = refused
	}
	set := func(name string, a answer) {
		if number, known := info.SyscallNames[name]; known {
			answers[number] = a
		}
	}
	for _, name := range usual {
		set(name, allowed)
	}
	for _, name := range unneeded {
		set(name, refused)
	}
	for name, alternatives := range conditional {
		set(name, ifAny(alternatives))
	}
	// Its arguments are in memory, which a filter can't read. Without it libc uses clone.
	set("clone3", missing)
	return answers
}

// assembleFilter returns a program that gives each call its answer.
func assembleFilter(info *arch.Info, answers map[int]answer) []bpf.Instruction {
	var stretches []stretch
	add := func(first int, a answer) {
		if n := len(stretches); n == 0 || !slices.Equal(stretches[n-1].answer, a) {
			stretches = append(stretches, stretch{uint32(first), a})
		}
	}
	numbers := slices.Sorted(maps.Keys(answers))
	add(0, refused) // as the numbers between those that are known
	for i, number := range numbers {
		if i > 0 && number > numbers[i-1]+1 {
			add(numbers[i-1]+1, refused)
		}
		add(number, answers[number])
	}
	// Those of x32 are among these: they have a high bit set.
	add(numbers[len(numbers)-1]+1, missing)
	program := []bpf.Instruction{
		bpf.LoadAbsolute{Off: archOffset, Size: 4},
		bpf.JumpIf{Cond: bpf.JumpEqual, Val: uint32(info.ID), SkipTrue: 1},
		missing[0],
		bpf.LoadAbsolute{Off: numberOffset, Size: 4},
	}
	return append(program, search(stretches)...)
}

// stretch is the numbers from first up to the next one's first, which are answered alike.
type stretch struct {
	first  uint32
	answer answer
}

// search returns a binary search for the stretch of the number in the accumulator. The
// kernel tries all numbers when the filter is put into force, and remembers those
// whose answer depends on nothing else: a list of comparisons would take it longer.
func search(stretches []stretch) []bpf.Instruction {
	if len(stretches) == 1 {
		return stretches[0].answer
	}
	middle := len(stretches) / 2
	below, above := search(stretches[:middle]), search(stretches[middle:])
	// A conditional jump goes 255 instructions far.
	program := []bpf.Instruction{
		bpf.JumpIf{Cond: bpf.JumpLessThan, Val: stretches[middle].first, SkipTrue: 1},
		bpf.Jump{Skip: uint32(len(below))},
	}
	return slices.Concat(program, below, above)
}
