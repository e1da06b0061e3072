package sandbox

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"encoding/json"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"testing"

	"github.com/elastic/go-seccomp-bpf/arch"
	"golang.org/x/net/bpf"
	"golang.org/x/sys/unix"
)

const bits = ^uint64(0)

// python is the interpreter of the trials; any will do.
func python() string {
	return cmp.Or(os.Getenv("UNDERSTUDY_TEST_PYTHON"), "python3")
}

// call is a system call as trials.py makes it.
type call struct {
	Number    int      `json:"number"`
	Arguments []uint64 `json:"arguments"`
	Code      []byte   `json:"code"`
}

func calling(name string, arguments ...uint64) call {
	info, err := arch.GetInfo("")
	if err != nil {
		panic(err)
	}
	number, ok := info.SyscallNames[name]
	if !ok {
		number = -1
	}
	return call{Number: number, Arguments: arguments}
}

// endings returns the errno of each call in a process of its own, 0 for success.
func endings(t *testing.T, filter []byte, calls []call) []unix.Errno {
	t.Helper()
	input, err := json.Marshal(map[string]any{"filter": filter, "trials": calls})
	must(t, err)
	if filter == nil {
		input = bytes.Replace(input, []byte(`"filter":null`), []byte(`"filter":""`), 1)
	}
	cmd := exec.Command(python(), "testdata/trials.py")
	cmd.Stdin, cmd.Stderr = bytes.NewReader(input), os.Stderr
	output, err := cmd.Output()
	insist(t, err == nil, "trials.py: %v", err)
	var numbers []int
	if err := json.Unmarshal(output, &numbers); err != nil {
		t.Fatalf("%v: %s", err, output)
	}
	ends := make([]unix.Errno, len(numbers))
	for i, number := range numbers {
		ends[i] = unix.Errno(number)
	}
	return ends
}

// mustFilter returns the program of a session's filter.
func mustFilter(t testing.TB, inet bool) []byte {
	t.Helper()
	program, err := filter(liberties{inet: inet})
	must(t, err)
	return program
}

// The arguments of these calls do no harm where there is no filter.
var forbidden = map[string]call{
	"mount":                  calling("mount", 0, 0, 0, 0, 0),
	"umount2":                calling("umount2", 0, 0),
	"pivot_root":             calling("pivot_root", 0, 0),
	"chroot":                 calling("chroot", 0),
	"open_tree":              calling("open_tree", bits, 0, 0),
	"move_mount":             calling("move_mount", bits, 0, bits, 0, 0),
	"fsopen":                 calling("fsopen", 0, 0),
	"fsconfig":               calling("fsconfig", bits, 0, 0, 0, 0),
	"fsmount":                calling("fsmount", bits, 0, 0),
	"fspick":                 calling("fspick", bits, 0, 0),
	"mount_setattr":          calling("mount_setattr", bits, 0, 0, 0, 0),
	"unshare":                calling("unshare", 0),
	"unshare user":           calling("unshare", unix.CLONE_NEWUSER),
	"setns":                  calling("setns", bits, 0),
	"clone new user":         calling("clone", unix.CLONE_NEWUSER|uint64(unix.SIGCHLD), 0, 0, 0, 0),
	"clone high bits":        calling("clone", 1<<32|unix.CLONE_NEWUSER|uint64(unix.SIGCHLD), 0, 0, 0, 0),
	"clone parent":           calling("clone", unix.CLONE_PARENT|uint64(unix.SIGCHLD), 0, 0, 0, 0),
	"ptrace":                 calling("ptrace", unix.PTRACE_TRACEME, 0, 0, 0),
	"process_vm_readv":       calling("process_vm_readv", 1, 0, 0, 0, 0, 0),
	"process_vm_writev":      calling("process_vm_writev", 1, 0, 0, 0, 0, 0),
	"process_madvise":        calling("process_madvise", bits, 0, 0, 0, 0),
	"process_mrelease":       calling("process_mrelease", bits, 0),
	"pidfd_getfd":            calling("pidfd_getfd", bits, 0, 0),
	"kcmp":                   calling("kcmp", 0, 0, bits, 0, 0),
	"bpf":                    calling("bpf", bits, 0, 0),
	"perf_event_open":        calling("perf_event_open", 0, 0, 0, bits, 0),
	"userfaultfd":            calling("userfaultfd", bits),
	"io_uring_setup":         calling("io_uring_setup", 0, 0),
	"io_uring_enter":         calling("io_uring_enter", bits, 0, 0, 0, 0, 0),
	"io_uring_register":      calling("io_uring_register", bits, 0, 0, 0),
	"keyctl":                 calling("keyctl", bits, 0, 0, 0, 0),
	"add_key":                calling("add_key", 0, 0, 0, 0, 0),
	"request_key":            calling("request_key", 0, 0, 0, 0),
	"kexec_load":             calling("kexec_load", 0, 0, 0, bits),
	"kexec_file_load":        calling("kexec_file_load", bits, bits, 0, 0, bits),
	"init_module":            calling("init_module", 0, 0, 0),
	"finit_module":           calling("finit_module", bits, 0, bits),
	"delete_module":          calling("delete_module", 0, 0),
	"open_by_handle_at":      calling("open_by_handle_at", bits, 0, 0),
	"name_to_handle_at":      calling("name_to_handle_at", bits, 0, 0, 0, bits),
	"quotactl":               calling("quotactl", bits, 0, 0, 0),
	"acct":                   calling("acct", 1),
	"swapon":                 calling("swapon", 0, 0),
	"swapoff":                calling("swapoff", 0),
	"reboot":                 calling("reboot", 0, 0, 0, 0),
	"settimeofday":           calling("settimeofday", 0, 0),
	"clock_settime":          calling("clock_settime", bits, 0),
	"clock_adjtime":          calling("clock_adjtime", bits, 0),
	"adjtimex":               calling("adjtimex", 0),
	"personality":            calling("personality", 0x0040000), // ADDR_NO_RANDOMIZE
	"lookup_dcookie":         calling("lookup_dcookie", 0, 0, 0),
	"syslog":                 calling("syslog", 10, 0, 0),
	"sethostname":            calling("sethostname", 0, bits),
	"setdomainname":          calling("setdomainname", 0, bits),
	"fanotify_init":          calling("fanotify_init", bits, 0),
	"memfd_secret":           calling("memfd_secret", bits),
	"memfd_create":           calling("memfd_create", 0, 0),
	"shmget":                 calling("shmget", 4711, 0, 0),
	"kill all":               calling("kill", bits, 0),
	"kill all, 32 bits":      calling("kill", 1<<32-1, 0),
	"TIOCSTI":                calling("ioctl", bits, unix.TIOCSTI, 0),
	"TIOCSTI, high bits":     calling("ioctl", bits, 1<<32|unix.TIOCSTI, 0),
	"TIOCLINUX":              calling("ioctl", bits, unix.TIOCLINUX, 0),
	"PIDFD_GET_INFO":         calling("ioctl", bits, 0xc040ff0b, 0),
	"PIDFD_GET_INFO, longer": calling("ioctl", bits, 0xc080ff0b, 0),
	"PIDFD_GET_INFO, _IO":    calling("ioctl", bits, 1<<32|0xff0b, 0),
	"prlimit64 of another":   calling("prlimit64", 1, unix.RLIMIT_NOFILE, 1, 0),
	"the tag":                calling("prlimit64", 0, unix.RLIMIT_LOCKS, 1, 0),
	"the tag, high bits":     calling("prlimit64", 0, 1<<32|unix.RLIMIT_LOCKS, 1, 0),
	"the tag by setrlimit":   calling("setrlimit", unix.RLIMIT_LOCKS, 1),
	"setpriority of another": calling("setpriority", unix.PRIO_PROCESS, 4000000, 0),
	"setpriority of a group": calling("setpriority", unix.PRIO_PGRP, 0, 0),
	"ioprio_set of another":  calling("ioprio_set", 1, 4000000, 0),
	"setpriority of a user":  calling("setpriority", unix.PRIO_USER, 4000000, 0),
	"ioprio_set of a user":   calling("ioprio_set", 3, 4000000, 0),
	"sched_setscheduler":     calling("sched_setscheduler", 4000000, 0, 0),
	"sched_setparam":         calling("sched_setparam", 4000000, 0),
	"sched_setattr":          calling("sched_setattr", 4000000, 0, 0),
	"raw socket":             calling("socket", unix.AF_INET, unix.SOCK_RAW, unix.IPPROTO_ICMP),
	"raw socket 6":           calling("socket", unix.AF_INET6, unix.SOCK_RAW|unix.SOCK_CLOEXEC, unix.IPPROTO_TCP),
	"SCTP":                   calling("socket", unix.AF_INET, unix.SOCK_STREAM, unix.IPPROTO_SCTP),
	"DCCP":                   calling("socket", unix.AF_INET, 6, 0),
	"packet socket":          calling("socket", unix.AF_PACKET, unix.SOCK_DGRAM, 0),
	"AF_ALG":                 calling("socket", unix.AF_ALG, unix.SOCK_SEQPACKET, 0),
	"AF_VSOCK":               calling("socket", unix.AF_VSOCK, unix.SOCK_STREAM, 0),
	"AF_TIPC":                calling("socketpair", unix.AF_TIPC, unix.SOCK_SEQPACKET, 0, 0),
	"AF_BLUETOOTH":           calling("socket", unix.AF_BLUETOOTH, unix.SOCK_RAW, 0),
	"netfilter":              calling("socket", unix.AF_NETLINK, unix.SOCK_RAW, unix.NETLINK_NETFILTER),
	"audit":                  calling("socket", unix.AF_NETLINK, unix.SOCK_RAW, unix.NETLINK_AUDIT),
	"high bits of a family":  calling("socket", 1<<32|unix.AF_PACKET, unix.SOCK_DGRAM, 0),
	"high bits of a type":    calling("socket", unix.AF_INET, 1<<32|unix.SOCK_RAW, unix.IPPROTO_ICMP),
}

var forbiddenWithoutInet = map[string]call{
	"TCP":           calling("socket", unix.AF_INET, unix.SOCK_STREAM, 0),
	"TCP 6":         calling("socket", unix.AF_INET6, unix.SOCK_STREAM, 0),
	"UDP":           calling("socket", unix.AF_INET, unix.SOCK_DGRAM, 0),
	"routes":        calling("socket", unix.AF_NETLINK, unix.SOCK_RAW, unix.NETLINK_ROUTE),
	"kobject event": calling("socket", unix.AF_NETLINK, unix.SOCK_RAW, unix.NETLINK_KOBJECT_UEVENT),
}

// What the kernel says to these without a filter, they say with one.
var permitted = map[string]call{
	"getpid":                calling("getpid"),
	"clone":                 calling("clone", uint64(unix.SIGCHLD), 0, 0, 0, 0),
	"personality":           calling("personality", 0xffffffff),
	"prlimit64":             calling("prlimit64", 0, unix.RLIMIT_NOFILE, 0, 0),
	"prlimit64 of another":  calling("prlimit64", 1, unix.RLIMIT_NOFILE, 0, 0),
	"the tag":               calling("prlimit64", 0, unix.RLIMIT_LOCKS, 0, 0),
	"setpriority":           calling("setpriority", unix.PRIO_PROCESS, 0, 19),
	"ioprio_set":            calling("ioprio_set", 1, 0, 0),
	"sched_setscheduler":    calling("sched_setscheduler", 0, 0, 0), // EFAULT
	"kill 0":                calling("kill", 0, 0),
	"kill an odd group":     calling("kill", uint64(1<<64-4000000), 0), // ESRCH
	"kill, 32 bits":         calling("kill", uint64(1<<32-4000000), 0),
	"ioctl":                 calling("ioctl", bits, unix.TIOCGWINSZ, 0), // EBADF
	"ioctl, all 32 bits":    calling("ioctl", bits, 0x80045430, 0),
	"ioctl, a sign":         calling("ioctl", bits, 0xffffffff80045430, 0),
	"pidfd_open":            calling("pidfd_open", 1, 0),
	"ioctl of a pidfd":      calling("ioctl", bits, 0xff02, 0), // EBADF
	"unix socket":           calling("socket", unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0),
	"unix datagrams":        calling("socket", unix.AF_UNIX, unix.SOCK_DGRAM, 0),
	"landlock":              calling("landlock_create_ruleset", 0, 0, 1),
	"fchmodat2":             calling("fchmodat2", bits, 0, 0, 0),
	"statx":                 calling("statx", bits, 0, 0, 0, 0),
	"rseq":                  calling("rseq", 0, 0, bits, 0),
	"sched_setaffinity":     calling("sched_setaffinity", 0, 0, 0),
	"close_range":           calling("close_range", 1000000, 1000001, 0),
	"mlockall":              calling("mlockall", bits), // EINVAL
	"capset":                calling("capset", 0, 0),   // EFAULT
	"a call of the future":  {Number: 4000},            // ENOSYS
	"further filters":       calling("seccomp", 2, 0, 0),
	"inotify_init1":         calling("inotify_init1", 0),
	"signalfd4":             calling("signalfd4", bits, 0, 8, 0),
	"epoll_pwait2":          calling("epoll_pwait2", bits, 0, 0, 0, 0, 0),
	"copy_file_range":       calling("copy_file_range", bits, 0, bits, 0, 0, 0),
	"renameat2":             calling("renameat2", bits, 0, bits, 0, 0),
	"futex_waitv":           calling("futex_waitv", 0, 0, 0, 0, 0),
	"membarrier":            calling("membarrier", 0, 0, 0),
	"set_robust_list":       calling("set_robust_list", 0, 24),
	"prctl":                 calling("prctl", unix.PR_GET_DUMPABLE, 0, 0, 0, 0),
	"getrandom":             calling("getrandom", 0, 0, 0),
	"pipe2":                 calling("pipe2", 0, 0),
	"mknodat":               calling("mknodat", bits, 0, unix.S_IFIFO, 0),
	"execveat":              calling("execveat", bits, 0, 0, 0, 0),
	"waitid":                calling("waitid", unix.P_ALL, 0, 0, unix.WEXITED|unix.WNOHANG, 0),
	"setsid":                calling("setsid"), // EPERM: it leads a session already
	"rt_sigqueueinfo":       calling("rt_sigqueueinfo", 0, 0, 0),
	"clock_gettime":         calling("clock_gettime", 0, 0),
	"io_setup":              calling("io_setup", 0, 0),
	"sched_getattr":         calling("sched_getattr", 0, 0, 0, 0),
	"sched_setparam":        calling("sched_setparam", 0, 0),
	"pkey_alloc":            calling("pkey_alloc", bits, 0),
	"openat2":               calling("openat2", bits, 0, 0, 0),
	"socketpair":            calling("socketpair", unix.AF_UNIX, unix.SOCK_STREAM, 0, 0),
	"timerfd_create":        calling("timerfd_create", bits, 0),
	"sendmmsg":              calling("sendmmsg", bits, 0, 0, 0),
	"process's own signals": calling("pidfd_send_signal", bits, 0, 0, 0),
}

var permittedWithInet = map[string]call{
	"TCP":         calling("socket", unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0),
	"TCP by name": calling("socket", unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_NONBLOCK, unix.IPPROTO_TCP),
	"TCP 6":       calling("socket", unix.AF_INET6, unix.SOCK_STREAM|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, 0),
	"UDP":         calling("socket", unix.AF_INET, unix.SOCK_DGRAM, unix.IPPROTO_UDP),
	"UDP 6":       calling("socket", unix.AF_INET6, unix.SOCK_DGRAM, 0),
	"routes":      calling("socket", unix.AF_NETLINK, unix.SOCK_RAW|unix.SOCK_CLOEXEC, unix.NETLINK_ROUTE),
}

// tryAll returns names in order and how each one's call ends.
func tryAll(t *testing.T, filter []byte, tables ...map[string]call) ([]string, []unix.Errno) {
	t.Helper()
	var names []string
	var calls []call
	for _, table := range tables {
		for name, call := range table {
			if call.Number < 0 {
				continue // this architecture doesn't have it
			}
			names, calls = append(names, name), append(calls, call)
		}
	}
	return names, endings(t, filter, calls)
}

func TestForbiddenCalls(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		inet   bool
		tables []map[string]call
	}{
		"inet":    {true, []map[string]call{forbidden}},
		"no inet": {false, []map[string]call{forbidden, forbiddenWithoutInet}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			names, ends := tryAll(t, mustFilter(t, test.inet), test.tables...)
			for i, end := range ends {
				if end != unix.EPERM {
					t.Errorf("%s: got %d (%v), want EPERM", names[i], int(end), end)
				}
			}
		})
	}
}

// TestWhatForbids makes sure that it is the filter: root is told something else.
func TestWhatForbids(t *testing.T) {
	t.Parallel()
	if endings(t, nil, []call{forbidden["swapoff"]})[0] == unix.EPERM {
		t.Skip("the kernel refuses these calls as well to who has no privileges")
	}
	names, ends := tryAll(t, nil, forbidden, forbiddenWithoutInet)
	var same []string
	for i, end := range ends {
		if end == unix.EPERM {
			same = append(same, names[i])
		}
	}
	// Some hosts refuse root one or the other.
	expect(t, len(same) <= len(names)/8, "without a filter these fail in the same way, so their trials prove nothing: %q", same)
}

func TestPermittedCalls(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		inet   bool
		tables []map[string]call
	}{
		"inet":    {true, []map[string]call{permitted, permittedWithInet}},
		"no inet": {false, []map[string]call{permitted}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			free := map[string]unix.Errno{}
			names, ends := tryAll(t, nil, test.tables...)
			for i, end := range ends {
				free[names[i]] = end
			}
			names, ends = tryAll(t, mustFilter(t, test.inet), test.tables...)
			for i, end := range ends {
				if end != free[names[i]] {
					t.Errorf("%s: got %d (%v), without a filter %v", names[i], int(end), end, free[names[i]])
				}
			}
		})
	}
}

// interrupt asks for a process's id as 32-bit programs do, whose calls have other numbers.
var interrupt = []byte{
	0xb8, 20, 0, 0, 0, // mov eax, 20
	0xcd, 0x80, // int 0x80
	0x48, 0x98, // cdqe
	0xc3, // ret
}

func TestCallsThatAreMissing(t *testing.T) {
	t.Parallel()
	calls := map[string]call{"clone3": calling("clone3", 0, 0), "new": {Number: 600}}
	if runtime.GOARCH == "amd64" {
		calls["int 0x80"] = call{Code: interrupt}
		calls["x32's getpid"] = call{Number: 0x40000000 | 39}
		calls["x32's execve"] = call{Number: 0x40000000 | 520}
	}
	names, ends := tryAll(t, mustFilter(t, true), calls)
	for i, end := range ends {
		if end != unix.ENOSYS {
			t.Errorf("%s: got %d (%v), want ENOSYS", names[i], int(end), end)
		}
	}
}

// TestFilterOfAnyArchitecture assembles the filter of the architecture that the tests
// don't run on.
func TestFilterOfAnyArchitecture(t *testing.T) {
	t.Parallel()
	usual, err := usualCalls()
	must(t, err)
	for _, name := range []string{"amd64", "arm64"} {
		info, err := arch.GetInfo(name)
		must(t, err)
		answers := answersTo(info, usual, conditionalCalls(liberties{inet: true}))
		if _, err := encode(assembleFilter(info, answers)); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		for want, names := range map[*answer][]string{
			&allowed: {"openat", "execve", "mmap", "futex", "wait4", "ppoll", "epoll_pwait", "rt_sigaction", "landlock_restrict_self"},
			&refused: {"mount", "ptrace", "bpf", "setns", "unshare", "init_module", "io_uring_setup", "pidfd_getfd"},
			&missing: {"clone3"},
		} {
			for _, call := range names {
				if got := answers[info.SyscallNames[call]]; !slices.Equal(got, *want) {
					t.Errorf("%s: %s is answered %v, want %v", name, call, got, *want)
				}
			}
		}
	}
}

// TestFilterAnswers runs the program on all numbers, by an interpreter of x/net/bpf.
func TestFilterAnswers(t *testing.T) {
	t.Parallel()
	info, err := arch.GetInfo("arm64")
	must(t, err)
	answers := map[int]answer{3: allowed, 4: allowed, 7: missing, 9: allowed, 300: allowed}
	vm, err := bpf.NewVM(assembleFilter(info, answers))
	must(t, err)
	for number := range 400 {
		want := refused
		if got, ok := answers[number]; ok {
			want = got
		} else if number > 300 {
			want = missing
		}
		for id, want := range map[uint32]answer{uint32(info.ID): want, 0x40000003: missing} {
			// The interpreter reads packets, whose numbers have their highest byte first.
			data := make([]byte, 64)
			binary.BigEndian.PutUint32(data[numberOffset:], uint32(number))
			binary.BigEndian.PutUint32(data[archOffset:], id)
			got, err := vm.Run(data)
			must(t, err)
			expect(t, got == int(want[0].(bpf.RetConstant).Val), "%d of %#x: got %#x", number, id, got)
		}
	}
}
