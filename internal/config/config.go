// Package config reads the settings of a run: one struct, filled from its
// defaults, the configuration file, the environment and the command line, each
// stronger than the one before.
//
// To add a setting: add one field with its tags below, and read it where the
// program is wired (internal/app). Its environment variable, its key in the
// file, its bounds (least, most, free for a value beside them, and a hint), its line in
// the help and in the reference follow from the tags.
package config

import (
	"errors"
	"fmt"
	"regexp"
	"runtime"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// Config is the whole command line. The fields of Shared and Serve are the
// settings: they may also come from the environment and the file.
type Config struct {
	Shared `embed:""`

	Serve   Serve   `cmd:"" default:"withargs" help:"Serve MCP over standard input and output, or over HTTP. This is what understudy does when no command is given."`
	Connect Connect `cmd:"" help:"Serve MCP over standard input and output by a server that goes on when the client ends: variables outlive a restart of the client. It is started in the background, one for each directory and settings."`
	Gateway Gateway `cmd:"" help:"On Kubernetes: give each client a pod of its own out of a warm pool, and pass what it sends on to the server there."`
	Attach  Attach  `cmd:"" help:"A prompt in an interpreter of a running server, beside its agent."`
	Setup   Setup   `cmd:"" help:"Prepare the Python environment with the scientific libraries."`
	Doctor  Doctor  `cmd:"" help:"Show what works here; exit status 1 when the main job can't."`
	Demo    Demo    `cmd:"" help:"Show the main job: act as a client of this program, print the conversation, leave plots."`
	Plugins Plugins `cmd:"" help:"Show and try the plugins of a directory."`
	Token   Token   `cmd:"" help:"Make a bearer token for a client that connects over a network, and the line for --auth-tokens."`
	Watch   Watch   `cmd:"" help:"Watch interpreters and experiments in the terminal, of servers that run and of those that have ended."`
	Report  Report  `cmd:"" help:"Write the report of an experiment: what was tried, results, the best solution, figures."`
	Export  Export  `cmd:"" help:"Write what an interpreter ran as a notebook, a page or a script."`
	Policy  Policy  `cmd:"" help:"Check a file of rules for code, and code by it."`
	Install Install `cmd:"" help:"Write the configuration of an MCP client, or print the command or the text by which it gets it."`
	Schema  Schema  `cmd:"" help:"Print the JSON schemas of the tools, of their record, and of a plugin's file."`
	Version Version `cmd:"" help:"Print the version."`

	Completion Completion `cmd:"" help:"Print the script by which a shell completes this program's command line."`

	// Command is the name of the command that was chosen, as in "serve" or "plugins list".
	Command string `kong:"-"`
	// Ignored are settings that are none, and no mistakes: those of former versions, and keys
	// of AIDE's config.yaml.
	Ignored []string `kong:"-"`
}

// Shared are the settings that several commands read.
type Shared struct {
	Config    string `placeholder:"FILE" help:"Read settings from this YAML file, whose keys are the names of these flags, and whose relative paths begin at the file. Of AIDE's config.yaml it takes what the two have in common. Default: ${config_file}, if it exists."`
	Python    string `type:"python" placeholder:"PATH" group:"Python" help:"Python to run, 3.10 or newer: a path, or a name on PATH. Default: that of the active virtual or conda environment; over stdio that of the project that the server works in (.venv, venv, .conda or env, upward to the top of the project); that of the environment made by setup; python3 on PATH."`
	DataDir   string `type:"path" placeholder:"DIR" group:"Files" help:"Where the Python environment, the journal and the sessions' files are kept. Default: ${data_dir}."`
	Journal   string `type:"path" placeholder:"PATH" group:"Journal" help:"The journal: a file with a record of every run, which report, export and watch read. Files that belong to it are beside it. Default: journal.db in the data directory."`
	LogLevel  string `enum:"debug,info,warn,error" default:"info" group:"Log" help:"Write log messages of this level and above to standard error: ${enum}."`
	LogFormat string `enum:"text,json" default:"text" group:"Log" help:"How log messages are written: ${enum}."`
}

// Serve are the settings of the server.
type Serve struct {
	Transport []string `type:"transports" default:"stdio" placeholder:"NAME,…" group:"Protocol" help:"How clients connect: stdio; http (streamable HTTP at /mcp); sse (HTTP with SSE at /sse); or http,sse for both on one address."`

	Network `embed:""`

	Auth `embed:""`

	Guard `embed:""`

	MCP `embed:""`

	Experiments `embed:""`

	Confine `embed:""`

	Start    string   `enum:"zygote,spawn" default:"${default_start}" group:"Python" help:"How an interpreter starts: ${enum}. zygote forks it from a process that has the libraries imported already, in milliseconds, and keeps a copy of it for crashes, branch and undo; it needs Linux. spawn starts a process of its own, without these."`
	Preload  []string `type:"modules" default:"numpy,pandas,matplotlib.pyplot" placeholder:"MODULE,…" group:"Python" help:"What is imported before interpreters are forked (--start zygote), separated by commas; none imports nothing. A module that can't be imported is logged and left out."`
	Pythons  []string `type:"pythons" placeholder:"NAME=PATH,…" group:"Python" help:"Other Pythons that an interpreter can be made with (manage_interpreters, create, argument python), separated by commas: a name and a path, or a path alone. own, the one made by setup, and over stdio project, the one of the project, are always there."`
	InitCode string   `type:"text" placeholder:"CODE|@FILE" group:"Python" help:"Python code that every interpreter runs when it starts; @FILE reads it from a file."`

	Workdir      string `type:"existingdir" placeholder:"DIR" group:"Files" help:"Working directory of all interpreters. Default: over stdio the directory that the server was started in, or ~/understudy if that is no place to work; over HTTP and SSE each has its own under the data directory, removed with it."`
	KeepWorkdirs bool   `negatable:"" group:"Files" help:"Keep the interpreters' own working directories when they end, with their figures and artifacts (HTTP and SSE)."`

	Echo      string `enum:"all,last,none" default:"all" group:"Code" help:"Which top-level expressions are printed: ${enum}."`
	Traceback string `enum:"plain,ipython" default:"plain" group:"Code" help:"How exceptions are shown: ${enum}."`
	Warnings  string `enum:"default,ignore" default:"default" group:"Code" help:"What happens to Python's warnings: ${enum}."`
	CodeFile  string `placeholder:"NAME" group:"Code" help:"Keep the running code in a file of this name while it runs, as runfile.py: __file__ is its path, and tracebacks name it. It lies in a directory of the interpreter's own, not among your files. Default: no file."`

	Timeout         time.Duration `type:"timelimit" default:"3600s" group:"Time" help:"How long one run may take when the call says nothing; none sets no limit."`
	MaxTimeout      time.Duration `type:"timelimit" default:"24h" group:"Time" help:"How long one run may take at most, whatever the call says; none sets no limit."`
	Wait            time.Duration `default:"45s" group:"Time" help:"How long a call waits before it answers that the code is still running. Many clients give up after 60 seconds."`
	Grace           time.Duration `default:"5s" group:"Time" help:"How long code may go on after it was interrupted at its time limit, before it is killed."`
	RerunAfterCrash bool          `negatable:"" group:"Time" help:"Run code once more when it crashed its interpreter. Its side effects then happen twice."`

	History          int           `least:"0" default:"1" group:"State" help:"How many of an interpreter's runs can be undone; a copy of its process is kept for each. 0 keeps none; a copy for crashes is still made."`
	CopyShare        float64       `least:"0.00001" most:"1" hint:"--checkpoint-memory 0 makes no copies" default:"0.2" group:"State" help:"Largest share of an interpreter's time that making copies may take while calls follow one another at once. A crash among them brings back the newest copy, and the runs since are lost; once nobody calls the state is copied within a fifth of a second. 1 copies after each run whatever it costs; --checkpoint-memory 0 makes none."`
	CopyIdle         time.Duration `default:"30s" group:"State" help:"After how long an idle interpreter needs no copy of its state: it is let go and made anew as the next call comes, before its code runs. What ends an idle process loses what its last run did to the variables, all of them where no earlier state is kept; the list says which have no copy. 0 keeps it."`
	CheckpointMemory float64       `least:"0" most:"1" default:"0.5" group:"State" help:"Largest share of the machine's or container's memory that an interpreter may hold and still be copied, from 0 to 1; 0 makes no copies, so that a crash loses the variables."`

	DefaultInterpreter   string        `enum:"client,none" default:"client" group:"State" help:"What a call gets that names no interpreter: ${enum}. client: the one of its client, made by its first call; none: an error, unless the client has authenticated. That is for a program that serves many people without tokens."`
	IdleTTL              time.Duration `name:"idle-ttl" default:"0" group:"Limits" help:"End interpreters that ran nothing for this long; 0 never ends them."`
	OnDisconnect         string        `enum:"keep,interrupt" default:"keep" group:"Time" help:"What happens to running code whose client lost its connection: ${enum}. keep lets it run on; whoever knows its interpreter_id can wait for it."`
	MaxSessions          int           `least:"1" default:"64" group:"Limits" help:"How many interpreters may live at once."`
	MaxSessionsPerClient int           `least:"0" default:"0" group:"Limits" help:"How many interpreters one client may have at once; 0 sets no limit beside that of all together."`
	WhenFull             string        `enum:"refuse,end-oldest" default:"refuse" group:"Limits" help:"What happens to a client that wants one interpreter more than the limits allow: ${enum}. end-oldest ends the one of its own that it has not used for longest and that runs nothing."`
	OutputLimit          int64         `least:"10000" type:"size" default:"1MB" group:"Limits" help:"How much of each output stream of a run is kept in memory: half from its head and half from its tail."`
	MaxUpload            int64         `least:"1" type:"size" default:"10MB" group:"Limits" help:"How large a file may be that an agent uploads into a working directory at once."`

	Instructions string `type:"text" placeholder:"TEXT|@FILE" group:"Answers" help:"Your own words to the model, after what the server says of itself: what it is here for, what to mind. @FILE reads them from a file. They are part of MCP's instructions, which most clients pass on to the model, and some do not."`
	// Text of less than the least could not hold an error and the closing line.
	TextBudget        int    `least:"1000" free:"0" default:"0" group:"Answers" help:"How many characters of text an answer may hold; the middle of longer output is left out, of numbers sooner, which cost a model more than words. 0 fits it to the client."`
	Figures           string `enum:"content,inline,none" default:"content" group:"Answers" help:"How figures reach the client: ${enum}. content sends images; inline adds data URIs to the structured record; none leaves them on disk."`
	ImageMaxSide      int    `least:"64" free:"0" default:"0" group:"Answers" help:"Longest side of an image in an answer, in pixels. The file keeps its full size. 0 fits it to the client."`
	ImageBudget       int64  `least:"10000" free:"0" type:"size" default:"0" group:"Answers" help:"How large an answer with images may be, as it is sent; never more than 10 MiB. 0 fits it to the client."`
	StructuredContent string `enum:"auto,always,never" default:"auto" group:"Answers" help:"Whether answers carry the record of the run for programs: ${enum}. auto leaves it out for clients that have no use for it or would show it in place of text and images; always gives it to all, with term_out."`

	Retired `embed:""`
}

// Retired are settings of former versions, with what their values always are now. A start
// that has them goes on working: they are taken, change nothing, and the log names them.
type Retired struct {
	MaxRequest     string `hidden:"" retired:"64 MiB"`
	MaxConnections string `hidden:"" retired:"2048"`
	Queue          string `hidden:"" retired:"16"`
	AbandonedTTL   string `name:"abandoned-ttl" hidden:"" retired:"1 hour; --idle-ttl ends idle interpreters sooner"`
	SpoolLimit     string `hidden:"" retired:"1 GB; --print-limit ends runs that print too much"`
}

// Setup are the flags of setup. --python chooses the Python that the environment is
// made from, --data-dir where it is made.
type Setup struct {
	Minimal bool `help:"Only the libraries that understudy knows best (numpy, pandas, scipy, matplotlib, seaborn, plotly, scikit-learn, statsmodels, IPython), without what code often imports beside them (openpyxl, pyarrow, polars, duckdb, requests and others). What is installed already stays."`
}

// Connect are the flags of connect: those of the server that it starts, and its own.
type Connect struct {
	Serve `embed:""`

	Share    string        `placeholder:"NAME" group:"Connect" help:"Use the interpreters that all clients with this name use together. Default: each client has its own."`
	IdleExit time.Duration `default:"8h" group:"Connect" help:"End the server, with all its interpreters, when no client was connected and nothing ran for this long; 0 never does."`

	// How the program starts itself: both are the path of the server's log.
	Launch     string `hidden:""`
	Background string `hidden:""`
}

// IsServer reports whether this process is the server in the background, and not
// what connects to it.
func (c Connect) IsServer() bool { return c.Background != "" }

// Attach are the arguments of attach.
type Attach struct {
	ID string `arg:"" optional:"" name:"id" help:"Which interpreter; attach alone takes the only one, or lists them."`
}

// Doctor are the flags of doctor.
type Doctor struct {
	JSON bool `name:"json" help:"Print the findings as JSON."`
}

// Demo are the flags of demo.
type Demo struct {
	Dir string `type:"path" default:"understudy-demo" help:"Directory that the demo works in."`
}

// Install are the flags of install.
type Install struct {
	Client  string   `required:"" enum:"claude-desktop,claude-code,vscode,cursor,codex,gemini-cli,windsurf,zed,goose" help:"Which client to configure: ${enum}."`
	Scope   string   `enum:"user,project" default:"user" help:"Configure the client for you everywhere, or for the project in the current directory: ${enum}."`
	Name    string   `default:"understudy" help:"Name of the server in the client."`
	Command string   `placeholder:"PATH" help:"Command that the client runs. Default: this program."`
	Shared  bool     `help:"Have the client run connect, by which its interpreters outlive it."`
	Print   bool     `help:"Print the configuration and change nothing."`
	Args    []string `arg:"" optional:"" help:"Arguments that the client gives to understudy, after --, as in: -- --timeout 10m."`
}

// Plugins are the commands plugins list, check and test.
type Plugins struct {
	// The setting of serve, under its name.
	Dir string `name:"plugins" type:"existingdir" required:"" placeholder:"DIR" help:"Directory with plugins."`

	List  PluginsList `cmd:"" help:"List the plugins: which are ready, disabled or broken, and why."`
	Check PluginNames `cmd:"" help:"Check each plugin and load it in an interpreter; exit status 1 when one is broken."`
	Test  PluginNames `cmd:"" help:"Run the test of each plugin in an interpreter of its own; exit status 1 when one fails."`
}

// PluginsList are the flags of plugins list.
type PluginsList struct {
	JSON bool `name:"json" help:"Print them as JSON."`
}

// PluginNames are the arguments of plugins check and plugins test.
type PluginNames struct {
	Names []string `arg:"" optional:"" name:"name" help:"Which; all when none is named."`
}

// Completion are the arguments of completion.
type Completion struct {
	Shell string   `arg:"" enum:"bash,zsh,fish" help:"Which shell: ${enum}."`
	Words []string `arg:"" optional:"" help:"Instead of the script: what may stand in the place of the last of these words, after --."`
}

// Schema are the flags of schema.
type Schema struct{}

// Version are the flags of version.
type Version struct {
	JSON bool `name:"json" help:"Print it as JSON."`
}

// UsageError is a command line, an environment or a file that makes no sense.
type UsageError struct{ Err error }

func (e *UsageError) Error() string { return e.Err.Error() }

// Unwrap returns the cause.
func (e *UsageError) Unwrap() error { return e.Err }

// The values of Serve.Start.
const (
	StartZygote = "zygote"
	startSpawn  = "spawn"
)

// Check reports settings that contradict each other or have no meaning.
func (s Serve) Check() error {
	return errors.Join(
		checkStart(s.Start, runtime.GOOS),
		s.checkNetwork(),
		checkCodeFile(s.CodeFile),
		s.checkTimes(),
		s.Auth.check(s.OverNetwork()),
		s.Experiments.check(s.Mode, s.Workdir),
		s.MCP.check(),
		s.Confine.check(s.SandboxMode(), runtime.GOOS),
	)
}

func (s Serve) checkTimes() error {
	switch {
	case s.Timeout == LimitNone && s.MaxTimeout != LimitNone:
		return fmt.Errorf("timeout is none, and max-timeout (%v) lets no run take longer; say --max-timeout none, too", s.MaxTimeout)
	case s.Wait <= 0:
		return errors.New("wait must be more than 0")
	case s.MaxTimeout != LimitNone && s.Timeout > s.MaxTimeout:
		return fmt.Errorf("timeout (%v) is more than max-timeout (%v); raise --max-timeout or lower --timeout", s.Timeout, s.MaxTimeout)
	}
	return nil
}

// reservedName is a file name that is a device on Windows.
var reservedName = regexp.MustCompile(`(?i)^(con|prn|aux|nul|com[0-9]|lpt[0-9])(\..*)?$`)

// checkCodeFile refuses what is no bare name of a file, on any system.
func checkCodeFile(name string) error {
	switch {
	case name == "":
		return nil
	case name == ".", name == "..", len(name) > 200, !utf8.ValidString(name), reservedName.MatchString(name),
		strings.ContainsAny(name, `/\:*?"<>|`), strings.ContainsFunc(name, unicode.IsControl):
		return fmt.Errorf("code-file is %q; it must be a bare file name, as runfile.py: the file lies in a directory of the interpreter's own", name)
	}
	return nil
}

// checkStart refuses a way to start interpreters that the system lacks.
func checkStart(start, system string) error {
	if start == StartZygote && system != "linux" {
		return fmt.Errorf("start is %s, which needs Linux: on %s a Python that has loaded libraries can't be forked safely; use --start %s", StartZygote, system, startSpawn)
	}
	return nil
}

// defaultStart is the value of --start when nothing is said.
func defaultStart(system string) string {
	if system == "linux" {
		return StartZygote
	}
	return startSpawn
}
