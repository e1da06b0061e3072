package config

import (
	"errors"
	"fmt"
	"math"
	"runtime"
	"slices"
	"strconv"
	"strings"

	"github.com/alecthomas/kong"
)

// Confine are the settings of the wall around sessions.
type Confine struct {
	Sandbox      string   `enum:"auto,off,standard,strict" default:"auto" group:"Sandbox" help:"What code may reach: ${enum}. standard: it reads the system and Python, writes only its working directory and its own /tmp, and has no network; strict: namespaces are required and less of the system is there; auto is standard for HTTP and SSE on Linux, and off for stdio, whose agents work on their user's own files."`
	SandboxFloor []string `type:"layers" placeholder:"LAYER,…" group:"Sandbox" help:"Refuse to serve unless these layers of the sandbox work here, separated by commas: rlimits, uid, landlock, seccomp, namespaces, cgroups. doctor says which do."`
	AllowNet     []string `type:"nethosts" placeholder:"HOST,…|all" group:"Sandbox" help:"Hosts that code in the sandbox may connect to, by HTTP and HTTPS through the server's proxy, separated by commas, as pypi.org,*.pythonhosted.org; all gives it the network as it is. Default: none."`
	Secret       []string `type:"secrets" placeholder:"NAME=env:VARIABLE@HOST,…" group:"Sandbox" help:"A secret that code in the sandbox can use and never reads: the environment variable NAME holds a placeholder, and the server's proxy puts the secret, of a variable of the server's or file:PATH, into headers of HTTPS requests to HOST, for HOST#HEADER into that header alone, for HOST?PARAMETER into that parameter of the query. May be repeated. The hosts may then be reached."`
	Read         []string `type:"existingpath" placeholder:"PATH,…" group:"Sandbox" help:"Files and directories that code in the sandbox may read, separated by commas; may be repeated."`
	Write        []string `type:"existingpath" placeholder:"PATH,…" group:"Sandbox" help:"Files and directories that code in the sandbox may read and write, separated by commas; may be repeated."`
	GPU          []string `name:"gpu" type:"gpus" placeholder:"none|all|N,…" group:"Sandbox" help:"NVIDIA cards that code in the sandbox may use: none, all, or numbers as 0,2 for /dev/nvidia0 and /dev/nvidia2. Opens the devices, files and system calls that CUDA needs, and nothing else. Default: none."`
	AllowInstall bool     `negatable:"" group:"Sandbox" help:"Let agents install packages for an interpreter with manage_interpreters; they go into an environment of its own."`

	// Below the least of these a Python can't start, or can't import its libraries.
	MemoryLimit   int64   `least:"67108864" type:"limit" default:"auto" placeholder:"SIZE" group:"Sandbox" help:"How much memory an interpreter may use, as 2GB; none sets no limit; auto is half of the machine's, at most 4 GB, in the sandbox, and none outside."`
	ProcessLimit  int64   `least:"8" type:"count" default:"auto" placeholder:"N" group:"Sandbox" help:"How many processes and threads an interpreter may have; auto is 512 in the sandbox, and none outside."`
	CPULimit      float64 `least:"0" most:"100000" hint:"0 sets no limit" name:"cpu-limit" default:"0" placeholder:"N" group:"Sandbox" help:"How many processors an interpreter may keep busy, as 1.5; 0 sets no limit."`
	OpenFileLimit int64   `least:"64" type:"count" default:"auto" placeholder:"N" group:"Sandbox" help:"How many files each process of an interpreter may have open; auto is 4096 in the sandbox, and the server's own outside."`
	FileSizeLimit int64   `least:"1048576" type:"limit" default:"auto" placeholder:"SIZE" group:"Sandbox" help:"How large a file may become that an interpreter writes; auto is the disk limit."`
	DiskLimit     int64   `least:"1048576" type:"limit" default:"auto" placeholder:"SIZE" group:"Sandbox" help:"How much an interpreter's working directory and its /tmp may hold, and how much interpreters may add to a --workdir; auto is 10 GB in the sandbox, and none outside."`
	PrintLimit    int64   `least:"10000" type:"limit" default:"none" placeholder:"SIZE" group:"Sandbox" help:"End a run that has printed more than this; none lets it print on, and keeps the first gigabyte."`
}

// NetAll is the one value of --allow-net that is no host.
const NetAll = "all"

// parseNetHost takes a host, or the word all. What is a host is for the proxy to say
// (internal/egress), before anything is served.
func parseNetHost(text string) (string, error) {
	host := strings.ToLower(text)
	if host == "" || host == "none" {
		return "", fmt.Errorf("%q is no host; without --allow-net there is no network", text)
	}
	if strings.Contains(host, "/") {
		return "", fmt.Errorf("%q is no host; write a host, not a URL, as pypi.org or localhost:8080", text)
	}
	return host, nil
}

// The values of a limit that are no number of bytes or things.
const (
	LimitAuto = -1
	LimitNone = 0
)

// The values of Confine.Sandbox.
const (
	SandboxAuto     = "auto"
	SandboxOff      = "off"
	SandboxStandard = "standard"
	SandboxStrict   = "strict"
)

// SandboxMode is --sandbox with auto resolved: off, standard or strict.
func (s Serve) SandboxMode() string {
	return sandboxMode(s.Sandbox, s.OverNetwork(), runtime.GOOS)
}

// sandboxMode leaves stdio open: its client is an agent on its user's own machine,
// which is meant to reach that user's files. Commands that read no settings of the
// server ("") have none either.
func sandboxMode(asked string, network bool, system string) string {
	switch {
	case asked != SandboxAuto && asked != "":
		return asked
	case asked == SandboxAuto && network && system == "linux":
		return SandboxStandard
	}
	return SandboxOff
}

// AllowsAllNet reports whether code in the sandbox has the network as it is.
func (c Confine) AllowsAllNet() bool { return slices.Contains(c.AllowNet, NetAll) }

// Cards are the cards of --gpu: numbers, or all alone; nil for none.
func (c Confine) Cards() []string {
	if slices.Contains(c.GPU, gpuNone) {
		return nil
	}
	return c.GPU
}

// check refuses what has no meaning together; mode is the resolved one.
func (c Confine) check(mode, system string) error {
	var problems []error
	switch {
	case mode == SandboxStrict && system != "linux":
		problems = append(problems, fmt.Errorf("sandbox is strict, which needs Linux; on %s run the server in a Linux container or virtual machine", system))
	case mode == SandboxStandard && system != "linux" && system != "darwin":
		problems = append(problems, fmt.Errorf("sandbox is standard, which %s lacks; run the server in a Linux container or in WSL, or say --sandbox off", system))
	case mode == SandboxOff:
		problems = append(problems, c.checkOff())
	}
	problems = append(problems, c.checkSecrets(mode, system))
	if c.AllowsAllNet() && len(c.AllowNet) > 1 {
		problems = append(problems, errors.New("allow-net is all and hosts; all is every host, so name the hosts or write all alone"))
	}
	if len(c.GPU) > 1 && (slices.Contains(c.GPU, gpuNone) || slices.Contains(c.GPU, gpuAll)) {
		problems = append(problems, fmt.Errorf("gpu is %s; write none or all alone, or numbers of cards", strings.Join(c.GPU, ",")))
	}
	if len(c.Cards()) > 0 && system != "linux" && mode != SandboxOff {
		problems = append(problems, fmt.Errorf("gpu opens NVIDIA's cards on Linux, and %s has none; leave it out", system))
	}
	return errors.Join(problems...)
}

// checkOff refuses settings that promise something which a sandbox that is off does
// not do, whoever has turned it off: who names the hosts that code may reach believes
// that it reaches no others.
func (c Confine) checkOff() error {
	off := "is off"
	if c.Sandbox == SandboxAuto {
		off = "is off here (auto is standard for HTTP and SSE on Linux, and off for all else)"
	}
	if len(c.SandboxFloor) > 0 {
		return fmt.Errorf("sandbox-floor needs the sandbox, which %s; say --sandbox standard, or leave --sandbox-floor out", off)
	}
	if len(c.AllowNet)+len(c.Read)+len(c.Write)+len(c.Cards()) > 0 {
		return fmt.Errorf("allow-net, read, write and gpu open what the sandbox closes, which %s, so all is open; say --sandbox standard, or leave them out", off)
	}
	return nil
}

// The values of --gpu that are no card's number.
const (
	gpuNone = "none"
	gpuAll  = "all"
)

func parseGPU(text string) (string, error) {
	if text == gpuNone || text == gpuAll {
		return text, nil
	}
	number, err := strconv.ParseUint(text, 10, 16)
	if err != nil {
		return "", fmt.Errorf("%q is no card; write none, all, or numbers of cards as 0,2 (nvidia-smi -L lists them)", text)
	}
	return strconv.FormatUint(number, 10), nil
}

// layers are the values of --sandbox-floor.
var layers = []string{"rlimits", "uid", "landlock", "seccomp", "namespaces", "cgroups"}

func parseLayer(text string) (string, error) {
	if !slices.Contains(layers, text) {
		return "", fmt.Errorf("%q is no layer of the sandbox; the layers are %s", text, strings.Join(layers, ", "))
	}
	return text, nil
}

// The types of limits in the tags: sizes, and numbers of things.
const (
	typeLimit = "limit"
	typeCount = "count"
	// typeTimeLimit is a duration or none.
	typeTimeLimit = "timelimit"
)

// limitOf takes auto, none, or what parse does; 0 is none.
func limitOf(parse func(string) (uint64, error), examples string) kong.Mapper {
	return decoded(func(text string) (int64, error) {
		switch strings.TrimSpace(text) {
		case "auto":
			return LimitAuto, nil
		case "none":
			return LimitNone, nil
		}
		limit, err := parse(text)
		if err != nil || limit > math.MaxInt64 {
			return 0, fmt.Errorf("%q is no limit; write %s, auto or none", text, examples)
		}
		return int64(limit), nil
	})
}

func parseCount(text string) (uint64, error) {
	return strconv.ParseUint(strings.TrimSpace(text), 10, 32)
}
