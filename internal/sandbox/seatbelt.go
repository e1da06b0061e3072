package sandbox

import (
	"fmt"
	"maps"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
)

// WrapCommand makes a command run behind the wall, on macOS, where a process is confined
// from outside: home and workdir are its own. On other systems, and without a wall, it
// changes nothing: there a worker confines itself.
func (w *Wall) WrapCommand(cmd *exec.Cmd, home, workdir string) {
	if w == nil || runtime.GOOS != "darwin" {
		return
	}
	settings := w.settings
	settings.Network.Hosts = nil // the proxy listens in networks of sessions, which there are none of
	home, workdir = w.locate(home, workdir)
	wrapCommand(cmd, settings, home, workdir)
}

func wrapCommand(cmd *exec.Cmd, settings Settings, home, workdir string) {
	program := append([]string{cmd.Path}, cmd.Args[1:]...)
	cmd.Args = SeatbeltCommand(Seatbelt(settings, home, workdir), program)
	cmd.Path = cmd.Args[0]
	if home != "" {
		temporary := filepath.Join(home, "tmp")
		cmd.Env = append(cmd.Env, "TMPDIR="+temporary, "HOME="+temporary)
	}
}

// SeatbeltCommand returns the command line that runs argv behind a profile of macOS.
func SeatbeltCommand(profile string, argv []string) []string {
	// The path is spelled out: another program of that name may come first on PATH.
	return append([]string{"/usr/bin/sandbox-exec", "-p", profile, "--"}, argv...)
}

// The directories of macOS that programs need, links resolved, as rules go by where
// they lead.
var (
	ofDarwinStrict = []string{
		"/usr/bin", "/usr/lib", "/usr/libexec", "/usr/sbin", "/usr/share", "/bin", "/sbin",
		"/System/Library", "/System/Cryptexes", "/System/Volumes/Preboot/Cryptexes",
		"/Library/Apple", "/Library/Fonts",
		"/private/var/db/dyld", "/private/var/db/timezone", "/private/var/select",
		"/private/etc/ssl", "/private/etc/localtime", "/private/etc/hosts", "/private/etc/passwd", "/private/etc/group",
		"/private/etc/protocols", "/private/etc/services", "/private/etc/shells",
	}
	// Python, compilers and tools as people install them.
	ofDarwin = append(slices.Clone(ofDarwinStrict),
		"/usr/local", "/opt", "/Library/Frameworks", "/Library/Developer/CommandLineTools",
		"/Library/Preferences/Logging", "/Applications/Xcode.app/Contents/Developer", "/private/etc",
	)
)

// Seatbelt returns the text of a macOS sandbox profile. The paths of the settings, home
// and workdir are taken as they are: no link is followed that code may have put there.
func Seatbelt(settings Settings, home, workdir string) string {
	read, strict := ofDarwin, settings.Mode == Strict
	if strict {
		read = ofDarwinStrict
	}
	read = cleaned(slices.Concat(settled(read), settings.Python, settings.Read))
	write := cleaned(append([]string{home, workdir}, settings.Write...))
	rules := []string{
		"(version 1)",
		"(deny default)",
		ofProcesses,
		ofKernel,
		ofDevices,
		allowPaths("file-read* file-test-existence file-map-executable", "subpath", slices.Concat(read, write)),
		allowPaths("file-write* file-ioctl", "subpath", write),
		// Where a path leads, and what lies on the way to what may be read.
		allowPaths("file-read-metadata file-test-existence", "literal", above(slices.Concat(read, write))),
		`(allow file-read-data (literal "/"))`,
		`(allow system-socket (socket-domain AF_UNIX))`,
	}
	for _, path := range write {
		rules = append(rules,
			fmt.Sprintf("(allow network-bind network-inbound (local unix-socket (subpath %s)))", quoteScheme(path)),
			fmt.Sprintf("(allow network-outbound (remote unix-socket (subpath %s)))", quoteScheme(path)))
	}
	return strings.Join(append(rules, networkRules(settings.Network)...), "\n") + "\n"
}

const (
	// Children are behind the same profile for good. Whatever is same-sandbox is of the
	// same session.
	ofProcesses = `(allow process-exec)
(allow process-fork)
(allow process-info* (target same-sandbox))
(allow signal (target same-sandbox))
(allow mach-priv-task-port (target same-sandbox))`

	// What Python, its libraries and the system's ask about the machine, the services that
	// name users and take logs, and what multiprocessing is made of. Other processes'
	// arguments and environments are not among it.
	ofKernel = `(allow sysctl-read
  (sysctl-name-prefix "hw.")
  (sysctl-name-prefix "machdep.cpu.")
  (sysctl-name-prefix "kern.os")
  (sysctl-name-prefix "kern.proc.pid.")
  (sysctl-name-prefix "kern.proc.pgrp.")
  (sysctl-name "kern.argmax")
  (sysctl-name "kern.boottime")
  (sysctl-name "kern.hostname")
  (sysctl-name "kern.maxfiles")
  (sysctl-name "kern.maxfilesperproc")
  (sysctl-name "kern.maxproc")
  (sysctl-name "kern.ngroups")
  (sysctl-name "kern.secure_kernel")
  (sysctl-name "kern.usrstack64")
  (sysctl-name "kern.version")
  (sysctl-name "machdep.ptrauth_enabled")
  (sysctl-name "sysctl.proc_cputype")
  (sysctl-name "vm.loadavg")
  (sysctl-name "vm.swapusage"))
(allow mach-host*)
(allow mach-lookup
  (global-name "com.apple.bsd.dirhelper")
  (global-name "com.apple.logd")
  (global-name "com.apple.system.logger")
  (global-name "com.apple.system.notification_center")
  (global-name "com.apple.system.opendirectoryd.libinfo")
  (global-name "com.apple.system.opendirectoryd.membership"))
(allow ipc-posix-sem)
(allow ipc-posix-shm)`

	ofDevices = `(allow file-read* file-test-existence
  (literal "/dev/null") (literal "/dev/zero") (literal "/dev/random") (literal "/dev/urandom")
  (literal "/dev/autofs_nowait") (literal "/dev/dtracehelper") (subpath "/dev/fd"))
(allow file-write-data file-ioctl
  (literal "/dev/null") (literal "/dev/zero") (literal "/dev/dtracehelper"))
(allow pseudo-tty)
(allow file-read* file-write* file-ioctl
  (literal "/dev/ptmx")
  (require-all (regex #"^/dev/ttys[0-9]+$") (extension "com.apple.sandbox.pty")))`

	ofNetwork = `(allow network*)
(allow system-socket)
(allow file-read* (literal "/private/etc/resolv.conf") (literal "/private/var/run/resolv.conf"))
(allow sysctl-read (sysctl-name-prefix "net.routetable."))
(allow mach-lookup
  (global-name "com.apple.SecurityServer")
  (global-name "com.apple.SystemConfiguration.DNSConfiguration")
  (global-name "com.apple.SystemConfiguration.configd")
  (global-name "com.apple.networkd")
  (global-name "com.apple.ocspd")
  (global-name "com.apple.trustd.agent"))`
)

// networkRules open the network, or the way to the server's proxy alone.
func networkRules(network Network) []string {
	switch {
	case network.All:
		return []string{ofNetwork}
	case len(network.Hosts) > 0:
		return []string{fmt.Sprintf(`(allow network-outbound (remote ip "localhost:%d"))`, proxyPort)}
	}
	return nil
}

// allowPaths returns the rule that allows operations on paths, "" if there are none.
func allowPaths(operations, filter string, paths []string) string {
	if len(paths) == 0 {
		return ""
	}
	var rule strings.Builder
	fmt.Fprintf(&rule, "(allow %s", operations)
	for _, path := range paths {
		fmt.Fprintf(&rule, "\n  (%s %s)", filter, quoteScheme(path))
	}
	return rule.String() + ")"
}

// quoteScheme returns a string as a profile's language writes it. Characters that end
// it or a line, and other control characters, are written by name.
func quoteScheme(text string) string {
	var quoted strings.Builder
	quoted.WriteByte('"')
	for i := range len(text) {
		switch c := text[i]; {
		case c == '"' || c == '\\':
			quoted.Write([]byte{'\\', c})
		case c < ' ' || c == 0x7f:
			fmt.Fprintf(&quoted, `\x%02x`, c)
		default:
			quoted.WriteByte(c)
		}
	}
	quoted.WriteByte('"')
	return quoted.String()
}

// cleaned returns the paths, each once, without "".
func cleaned(paths []string) (found []string) {
	for _, path := range paths {
		if path == "" {
			continue
		}
		if path = filepath.Clean(path); !slices.Contains(found, path) {
			found = append(found, path)
		}
	}
	return found
}

// above returns the directories that the paths lie in, to the root, and the links in
// the root by which people name some of them.
func above(paths []string) []string {
	found := map[string]bool{"/etc": true, "/tmp": true, "/var": true}
	for _, path := range paths {
		for dir := filepath.Dir(path); !found[dir]; dir = filepath.Dir(dir) {
			found[dir] = true
		}
	}
	return slices.Sorted(maps.Keys(found))
}
