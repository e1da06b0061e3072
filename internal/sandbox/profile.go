package sandbox

import "reflect"

// A Profile is a wall as a worker puts it into force. It travels as JSON; its twin is
// pyworker/sandbox/confine.py, which goes through it in this order.
type Profile struct {
	Base *Base `json:"base"`
	// Binds are what the session's view has beside the Base's: what is its family's own.
	Binds []bind `json:"binds,omitempty"`
	// Rules are Landlock's for that.
	Rules []rule `json:"rules,omitempty"`
	// Rlimits are (resource, soft, hard).
	Rlimits [][3]uint64 `json:"rlimits,omitempty"`
	// Expose is added to the process's oom_score_adj.
	Expose int `json:"expose,omitempty"`
	// User and Group are whom to become, 0 to stay.
	User        int               `json:"user,omitempty"`
	Group       int               `json:"group,omitempty"`
	Environment map[string]string `json:"environment,omitempty"`
	// Seccomp is an array of struct sock_filter.
	Seccomp []byte `json:"seccomp,omitempty"`
}

// Base is the part of a Profile that is the same for all sessions. A worker that is forked
// ahead of its session puts it into force ahead, too.
type Base struct {
	// Unshare are the flags of unshare(2): namespaces that the session gets for itself.
	Unshare  uintptr   `json:"unshare,omitempty"`
	Network  *netView  `json:"network,omitempty"` // of a network namespace of its own
	View     *view     `json:"view,omitempty"`    // of a mount namespace of its own
	Landlock *landlock `json:"landlock,omitempty"`

	// identities tells apart what has the same paths: a directory that was replaced is
	// another one, and who has mounted the old one has not mounted it.
	identities string
}

// Same reports whether a worker that has put b into force ahead has what other asks for.
func (b *Base) Same(other *Base) bool { return reflect.DeepEqual(b, other) }

// Listens reports whether the worker has a socket for the server's proxy, in a network
// of its own. A Profile that is nil is none.
func (p *Profile) Listens() bool {
	return p != nil && p.Base.Network != nil && p.Base.Network.Port != 0
}

// netView is a network namespace with nothing but its loopback device.
type netView struct {
	// Port is where the session finds the server's proxy, 0 for none.
	Port int `json:"port,omitempty"`
}

// view is what all sessions see of the file system. All of it is read-only but for what
// is bound writable.
type view struct {
	Covers    []string    `json:"covers"`    // directories that seem empty
	Memory    [][2]string `json:"memory"`    // (path, options) of tmpfs
	Proc      bool        `json:"proc"`      // a /proc that shows no processes of others
	Ptys      bool        `json:"ptys"`      // a /dev/pts that holds no terminals of others
	Temporary string      `json:"temporary"` // where each session's own /tmp is to be
	Homes     string      `json:"homes"`     // the directory that families' own ones are in
	Binds     []bind      `json:"binds"`     // those of all sessions
}

// bind is [source, target, writable].
type bind [3]any

// landlock is a set of rules for files. Words is how many of the attributes the
// kernel's version knows.
type landlock struct {
	Files  uint64 `json:"files"`  // the rights that need a rule
	Scopes uint64 `json:"scopes"` // what must not leave the session
	Words  int    `json:"words"`
	Rules  []rule `json:"rules"`
}

// rule is [path, rights].
type rule [2]any

// proxyPort is where a session finds the server's proxy, in its own network.
const proxyPort = 3128
