// Package crash says how a worker came to its end, for who reads Python: by its exit status,
// what faulthandler has left, and why the server has ended it, if it has.
package crash

import (
	"fmt"
	"regexp"
	"runtime"
	"strings"

	"understudy/internal/worker/wire"
	"understudy/sessions"
)

// Describe says how a process ended that has left a trace. A cause is the server's own, "" if
// it has ended nobody. Cells have the name of the code file, where one is kept.
func Describe(ended sessions.CrashError, trace, cause, codeFile string) *sessions.CrashError {
	ended.Trace = lastFault(trace)
	ended.Reason = underName(reason(&ended, cause), codeFile)
	ended.Trace = underName(ended.Trace, codeFile)
	return &ended
}

// lastFault returns the last of the reports in text: children that the worker
// forked write theirs to the same pipe, before the worker dies. What says
// nothing of the user's code is left out.
func lastFault(text string) string {
	if at := strings.LastIndex(text, "Fatal Python error: "); at >= 0 {
		text = text[at:]
	}
	var kept []string
	for line := range strings.SplitSeq(text, "\n") {
		if !isOurs(line) {
			kept = append(kept, line)
		}
	}
	return strings.TrimSpace(strings.Join(kept, "\n"))
}

// isOurs reports whether a line of a report is a frame of the worker's own, of
// how Python was started, or the list of extension modules.
func isOurs(line string) bool {
	if strings.HasPrefix(line, "Extension modules: ") {
		return true
	}
	m := faultFrame.FindStringSubmatch(line)
	return m != nil && (ownFile.MatchString(m[1]) || m[1] == "<frozen runpy>")
}

// ownFile matches the files of the library that Go lays down.
var ownFile = regexp.MustCompile(`[/\\]lib-[0-9a-f]+[/\\](pyworker|matplotlib_capture)[/\\]`)

// A frame in faulthandler's words.
var faultFrame = regexp.MustCompile(`^  File "(.*)", line (\d+|\?\?\?) in (.*)$`)

// faultLine returns where the fault happened, as "<cell 3>, line 1, in f": the
// innermost line of a cell if there is one, else the innermost line.
func faultLine(trace string) string {
	first := ""
	for line := range strings.SplitSeq(currentThread(trace), "\n") {
		m := faultFrame.FindStringSubmatch(line)
		if m == nil {
			continue
		}
		place := fmt.Sprintf("%s, line %s, in %s", m[1], m[2], m[3])
		if strings.HasPrefix(m[1], "<cell ") {
			return place
		}
		if first == "" {
			first = place
		}
	}
	return first
}

// underName has text name cells as tracebacks do where a code file is kept.
func underName(text, codeFile string) string {
	if codeFile == "" {
		return text
	}
	return cellFile.ReplaceAllLiteralString(text, codeFile)
}

var cellFile = regexp.MustCompile(`<cell [0-9]+>`)

// currentThread returns the frames of the thread that met the fault.
func currentThread(trace string) string {
	_, frames, found := strings.Cut(trace, "\nCurrent thread ")
	if !found {
		return trace
	}
	if end := strings.Index(frames, "\n\n"); end >= 0 {
		frames = frames[:end]
	}
	return frames
}

// What the usual signals mean to somebody who reads Python.
var signalMeaning = map[string]string{
	"SIGSEGV": "segmentation fault",
	"SIGABRT": "aborted",
	"SIGBUS":  "bus error",
	"SIGFPE":  "arithmetic fault",
	"SIGILL":  "illegal instruction",
	"SIGKILL": "out of memory, or killed from outside",
	"SIGTERM": "asked to end",
	"SIGXCPU": "its CPU time limit was reached",
	"SIGXFSZ": "its file size limit was reached",
	"SIGHUP":  "hung up",
	"SIGPIPE": "broken pipe",
	"SIGSYS":  "forbidden system call",
}

// HungUp is the cause of an end that a worker may have been ahead of: on a busy
// machine it may take a while to die after it has hung up.
const HungUp = "killed because it had closed its connection to the server (os.closerange, or a close in native code)"

// reason says in a clause why a worker ended, as "killed by SIGSEGV
// (segmentation fault) at <cell 3>, line 1, in f". A cause of our own goes
// before what the exit status says.
func reason(crash *sessions.CrashError, cause string) string {
	if cause != "" && (cause != HungUp || !endedItself(crash)) {
		return cause
	}
	text := exitReason(crash)
	if place := faultLine(crash.Trace); place != "" {
		text += " at " + place
	}
	return text
}

// endedItself reports whether the exit status says that nobody has killed the process.
// On Windows that has a code like any other.
func endedItself(crash *sessions.CrashError) bool {
	if crash.Signal == "" {
		return crash.ExitCode >= 0 && runtime.GOOS != "windows"
	}
	return crash.Signal != "SIGKILL"
}

func exitReason(crash *sessions.CrashError) string {
	switch {
	case crash.Signal == "" && crash.ExitCode == wire.ExitProtocol:
		return fmt.Sprintf("exited with code %d (it could not read what the server sent)", wire.ExitProtocol)
	case crash.Signal == "" && crash.ExitCode == wire.ExitNoMemory:
		return fmt.Sprintf("exited with code %d (no memory was left to go on with: the memory limit, --memory-limit, was reached)", wire.ExitNoMemory)
	case crash.Signal == "" && crash.ExitCode < 0:
		return "ended in an unknown way"
	case crash.Signal == "":
		return fmt.Sprintf("exited with code %d (os._exit, or an exit in native code)", crash.ExitCode)
	case signalMeaning[crash.Signal] == "":
		return "killed by " + crash.Signal
	default:
		return fmt.Sprintf("killed by %s (%s)", crash.Signal, signalMeaning[crash.Signal])
	}
}
