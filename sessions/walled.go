package sessions

import (
	"encoding/json"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
)

// Wall says what confines a worker.
type Wall struct {
	// Mode is the value of --sandbox, as "standard".
	Mode string `json:"mode"`
	// Layers are those that work here, as "landlock".
	Layers []string `json:"layers"`
	// Open are sentences about what the wall can't close here.
	Open []string `json:"open,omitempty"`
	// Network are the hosts that code may reach, NetworkAll alone for all; none if empty.
	Network []string `json:"network,omitempty"`
}

// NetworkAll stands in Wall.Network for the network as it is.
const NetworkAll = "all"

// explainWall names the wall where it is likely the cause of an exception: the agent
// would else look for the fault in its code, or in the machine.
func (s *Session) explainWall(r *Result) {
	if r.Status != StatusError || r.ExcInfo == nil {
		return
	}
	w := s.lead()
	if w == nil {
		return
	}
	wall := w.Info().Wall
	if wall == nil {
		return
	}
	switch {
	case isOfNetwork(r.ExcType, r.ExcInfo):
		if note := wall.ofNetwork(); note != "" {
			r.note(note)
		}
	case s.isOfFiles(r.ExcType, r.ExcInfo, r.Traceback):
		r.note("the sandbox may be why: code writes only to its working directory and the temporary directory, and reads these, the system and Python; the operator can add paths with --read and --write")
	}
}

func (w *Wall) ofNetwork() string {
	switch {
	case len(w.Network) == 0:
		return "the sandbox has no network; the operator can allow hosts with --allow-net"
	case w.Network[0] == NetworkAll:
		return ""
	}
	return "the sandbox allows HTTP and HTTPS to these hosts only: " + strings.Join(w.Network, ", ") + "; the operator can allow more with --allow-net"
}

// ofNetwork are the exceptions, by their classes' own names, with which Python and its
// usual libraries say that a connection could not be made.
var ofNetwork = []string{
	"gaierror", "herror", "URLError", "ConnectionError", "ConnectionRefusedError", // Python, and requests
	"ConnectTimeout", "ProxyError", // requests, httpx
	"NewConnectionError", "MaxRetryError", "NameResolutionError", "ConnectTimeoutError", // urllib3
	"ConnectError", "ClientConnectorError", "ClientConnectorDNSError", "ClientProxyConnectionError", "ServerNotFoundError",
}

func isOfNetwork(class string, info *ExceptionInfo) bool {
	if slices.Contains(ofNetwork, class) {
		return true
	}
	unreachable := []syscall.Errno{syscall.ENETUNREACH, syscall.EHOSTUNREACH, syscall.EAFNOSUPPORT}
	// That is how the server's proxy refuses a host.
	return class == "OSError" && (slices.Contains(unreachable, errnoOf(info)) || strings.Contains(info.Msg+firstText(info), "Tunnel connection failed: 403"))
}

// errnoOf is the number of an OSError, 0 if it has none.
func errnoOf(info *ExceptionInfo) (errno syscall.Errno) {
	if len(info.Args) == 0 || json.Unmarshal(info.Args[0], &errno) != nil {
		return 0
	}
	return errno
}

func firstText(info *ExceptionInfo) (text string) {
	if len(info.Args) == 0 || json.Unmarshal(info.Args[0], &text) != nil {
		return ""
	}
	return text
}

// namedPath is the file at the end of an OSError's line.
var namedPath = regexp.MustCompile(`\[Errno \d+\] [^\n]*: '(/[^'\n]*)'\s*$`)

// isOfFiles reports whether an exception is about a file that a wall may keep away. One
// that is hidden is not found.
func (s *Session) isOfFiles(class string, info *ExceptionInfo, traceback string) bool {
	errno := errnoOf(info)
	hidden := class == "FileNotFoundError" && errno == syscall.ENOENT
	denied := class == "PermissionError" || class == "OSError" && errno == syscall.EROFS
	found := namedPath.FindStringSubmatch(traceback)
	if !hidden && !denied || found == nil {
		return false
	}
	if errno == syscall.EROFS { // only what is mounted for the session is read-only
		return true
	}
	own := []string{s.dirs.Work, s.dirs.Private, "/tmp"}
	if hidden { // what is not there is not there for others either
		own = append(own, "/usr", "/bin", "/sbin", "/lib", "/etc", "/opt", "/proc", "/sys", "/dev")
	}
	return !slices.ContainsFunc(own, func(dir string) bool { return isBelow(found[1], dir) })
}

func isBelow(path, dir string) bool {
	relative, err := filepath.Rel(dir, path)
	return err == nil && filepath.IsLocal(relative)
}
