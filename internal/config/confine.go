package config

// Confine are the settings of the wall around sessions.
type Confine struct {
	Sandbox      string   `enum:"auto,off,standard,strict" default:"auto" group:"Sandbox" help:"What code may reach: ${enum}. standard: it reads the system and Python, writes only its working directory and its own /tmp, and has no network; strict: namespaces are required and less of the system is there; auto is standard for HTTP and SSE on Linux, and off for stdio, whose agents work on their user's own files."`
	SandboxFloor []string `enum:"rlimits,uid,landlock,seccomp,namespaces,cgroups" placeholder:"LAYER,…" group:"Sandbox" help:"Refuse to serve unless these layers of the sandbox work here, separated by commas: ${enum}. doctor says which do."`
	AllowNet     []string `type:"nethosts" placeholder:"HOST,…|all" group:"Sandbox" help:"Hosts that code in the sandbox may connect to, by HTTP and HTTPS through the server's proxy, separated by commas, as pypi.org,*.pythonhosted.org; all gives it the network as it is. Default: none."`
	Read         []string `type:"existingpath" sep:"none" placeholder:"PATH" group:"Sandbox" help:"File or directory that code in the sandbox may read; may be repeated."`
	Write        []string `type:"existingpath" sep:"none" placeholder:"PATH" group:"Sandbox" help:"File or directory that code in the sandbox may read and write; may be repeated."`
	AllowInstall bool     `negatable:"" group:"Sandbox" help:"Let agents install packages for an interpreter with manage_interpreters; they go into an environment of its own."`

	MemoryLimit   int64   `type:"limit" default:"auto" placeholder:"SIZE" group:"Sandbox" help:"How much memory an interpreter may use, as 2GB; none sets no limit; auto is half of the machine's, at most 4 GB, in the sandbox, and none outside."`
	ProcessLimit  int64   `type:"limit" default:"auto" placeholder:"N" group:"Sandbox" help:"How many processes and threads an interpreter may have; auto is 512 in the sandbox, and none outside."`
	CPULimit      float64 `name:"cpu-limit" default:"0" placeholder:"N" group:"Sandbox" help:"How many processors an interpreter may keep busy, as 1.5; 0 sets no limit."`
	OpenFileLimit int64   `type:"limit" default:"auto" placeholder:"N" group:"Sandbox" help:"How many files each process of an interpreter may have open; auto is 4096 in the sandbox, and the server's own outside."`
	FileSizeLimit int64   `type:"limit" default:"auto" placeholder:"SIZE" group:"Sandbox" help:"How large a file may become that an interpreter writes; auto is the disk limit."`
	DiskLimit     int64   `type:"limit" default:"auto" placeholder:"SIZE" group:"Sandbox" help:"How much an interpreter's working directory and its /tmp may hold; auto is 10 GB in the sandbox, and none outside."`
	PrintLimit    int64   `type:"limit" default:"none" placeholder:"SIZE" group:"Sandbox" help:"End a run that has printed more than this; none lets it print on, and keeps what --spool-limit allows."`
}

// The values of a setting of type limit that are no size.
const (
	LimitAuto = -1
	LimitNone = 0
)
