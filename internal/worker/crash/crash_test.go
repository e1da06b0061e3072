package crash

import (
	"testing"

	"understudy/internal/check"
	"understudy/sessions"
)

var expect = check.Expect

const segfault = `Fatal Python error: Aborted

Current thread 0x00007f11aa (most recent call first):
  File "<cell 1>", line 9 in child
Fatal Python error: Segmentation fault

Thread 0x00007f22bb (most recent call first):
  File "<cell 2>", line 4 in background
  File "/usr/lib/python3.11/threading.py", line 982 in run

Current thread 0x00007f33cc [Main] (most recent call first):
  File "/usr/lib/python3.11/ctypes/__init__.py", line 519 in string_at
  File "<cell 3>", line 1 in f
  File "<cell 4>", line 2 in <module>
  File "/home/u/.cache/understudy/lib-00/pyworker/executor.py", line 80 in run

Extension modules: numpy.core._multiarray_umath (total: 1)
`

func TestReason(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name, trace, cause, want string
		crash                    sessions.CrashError
	}{
		{name: "segfault", crash: sessions.CrashError{Signal: "SIGSEGV", ExitCode: -1}, trace: segfault,
			want: "killed by SIGSEGV (segmentation fault) at <cell 3>, line 1, in f"},
		{name: "no cell", crash: sessions.CrashError{Signal: "SIGBUS", ExitCode: -1},
			trace: "Fatal Python error: Bus error\n\nCurrent thread 0x1 (most recent call first):\n" +
				"  File \"/w/runfile.py\", line 7 in <module>\n  File \"/x/lib-0a/pyworker/loop.py\", line 1 in serve\n",
			want: "killed by SIGBUS (bus error) at /w/runfile.py, line 7, in <module>"},
		{name: "no frames", crash: sessions.CrashError{Signal: "SIGABRT", ExitCode: -1},
			trace: "Fatal Python error: Aborted\n\nCurrent thread 0x1 (most recent call first):\n  <no Python frame>\n",
			want:  "killed by SIGABRT (aborted)"},
		{name: "killed", crash: sessions.CrashError{Signal: "SIGKILL", ExitCode: -1},
			want: "killed by SIGKILL (out of memory, or killed from outside)"},
		{name: "unusual signal", crash: sessions.CrashError{Signal: "SIGVTALRM", ExitCode: -1}, want: "killed by SIGVTALRM"},
		{name: "exit", crash: sessions.CrashError{ExitCode: 3},
			want: "exited with code 3 (os._exit, or an exit in native code)"},
		{name: "unknown", crash: sessions.CrashError{ExitCode: -1}, want: "ended in an unknown way"},
		{name: "ours", crash: sessions.CrashError{Signal: "SIGKILL", ExitCode: -1}, cause: "killed by the server",
			want: "killed by the server"},
		{name: "hung up", crash: sessions.CrashError{Signal: "SIGKILL", ExitCode: -1}, cause: HungUp, want: HungUp},
		{name: "died as it hung up", crash: sessions.CrashError{Signal: "SIGSEGV", ExitCode: -1}, cause: HungUp,
			want: "killed by SIGSEGV (segmentation fault)"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			test.crash.Trace = lastFault(test.trace)
			got := reason(&test.crash, test.cause)
			expect(t, got == test.want, "got %q\nwant %q", got, test.want)
		})
	}
}

func TestFaultNamesTheCodeFile(t *testing.T) {
	t.Parallel()
	for codeFile, want := range map[string]string{"": "at <cell 12>, line 1", "a$1.py": "at a$1.py, line 1"} {
		got := underName("at <cell 12>, line 1", codeFile)
		expect(t, got == want, "%q: %q", codeFile, got)
	}
}

func TestFaultShowsTheUsersFramesOnly(t *testing.T) {
	t.Parallel()
	want := `Fatal Python error: Segmentation fault

Thread 0x00007f22bb (most recent call first):
  File "<cell 2>", line 4 in background
  File "/usr/lib/python3.11/threading.py", line 982 in run

Current thread 0x00007f33cc [Main] (most recent call first):
  File "/usr/lib/python3.11/ctypes/__init__.py", line 519 in string_at
  File "<cell 3>", line 1 in f
  File "<cell 4>", line 2 in <module>`
	got := lastFault(segfault)
	expect(t, got == want, "got %s", got)
}
