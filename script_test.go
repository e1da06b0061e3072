package main

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"image/png"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/mark3labs/mcp-go/client"
	"github.com/mark3labs/mcp-go/mcp"
	"github.com/rogpeppe/go-internal/testscript"
)

func TestMain(m *testing.M) {
	// Under the race detector every program sleeps a second before it exits.
	if os.Getenv("GORACE") == "" {
		_ = os.Setenv("GORACE", "atexit_sleep_ms=10")
	}
	// What crashes and undos cost is exact then, however fast a test calls; burst.txtar has
	// the usual share.
	if os.Getenv("UNDERSTUDY_COPY_SHARE") == "" {
		_ = os.Setenv("UNDERSTUDY_COPY_SHARE", "1")
	}
	testscript.Main(m, map[string]func(){"understudy": main, "contained": contained})
}

// TestScripts runs the conversations in testdata/script against the real
// server with a real Python; testdata/script/README.md lists their commands.
func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir: "testdata/script",
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"serve": cmdServe, "py": cmdPy, "run": cmdRun, "sh": cmdSh, "manage": cmdManage, "call": cmdCall, "tools": cmdTools, "cancel": cmdCancel,
			"warm": cmdWarm, "images": cmdImages, "record": cmdRecord, "progress": cmdProgress, "leave": cmdLeave, "killserver": cmdKillServer, "terminate": cmdTerminate,
			"read": cmdRead, "resources": cmdResources, "links": cmdLinks, "describe": cmdDescribe, "listen": cmdListen, "hear": cmdHear, "meanwhile": cmdMeanwhile,
			"venv": cmdVenv,
		},
		Condition: scriptCondition,
		Setup: func(env *testscript.Env) error {
			env.Setenv("UNDERSTUDY_DATA_DIR", filepath.Join(env.WorkDir, ".data"))
			env.Setenv("UNDERSTUDY_LOG_LEVEL", "warn")
			env.Setenv("HOME", filepath.Join(env.WorkDir, ".home")) // the directory above it is a project
			examples, err := filepath.Abs("examples")
			if err != nil {
				return err
			}
			env.Setenv("EXAMPLES", examples)
			if python := os.Getenv("UNDERSTUDY_TEST_PYTHON"); python != "" {
				env.Setenv("UNDERSTUDY_PYTHON", python)
			}
			env.Values[agentKey{}] = &agent{}
			return nil
		},
	})
}

func scriptCondition(name string) (bool, error) {
	python := scriptPython()
	if module, ok := strings.CutPrefix(name, "python:"); ok {
		return exec.Command(python, "-c", "import "+module).Run() == nil, nil
	}
	if version, ok := strings.CutPrefix(name, "python>="); ok {
		check := fmt.Sprintf("import sys; sys.exit(sys.version_info < tuple(map(int, %q.split('.'))))", version)
		return exec.Command(python, "-c", check).Run() == nil, nil
	}
	return false, fmt.Errorf("unknown condition %q", name)
}

type agentKey struct{}

// agent is the client of a script's server, with the last answer.
type agent struct {
	client *client.Client
	mark   string // in the environment of every process of the server's
	cmd    *exec.Cmd
	last   *mcp.CallToolResult
	stderr serverLog
	exited chan error // of a server over HTTP

	mu       sync.Mutex
	progress []string
	arrived  chan struct{} // gets a token with each progress message

	heard chan string // what came to who listens
}

// serverLog is what the servers of a script have logged.
type serverLog struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (l *serverLog) Write(text []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(text)
}

func (l *serverLog) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

func agentOf(ts *testscript.TestScript) *agent {
	return ts.Value(agentKey{}).(*agent)
}

// cmdServe starts a server with the given flags and greets it.
func cmdServe(ts *testscript.TestScript, neg bool, args []string) {
	a := agentOf(ts)
	a.mark = markName + "=" + rand.Text()
	a.arrived = make(chan struct{}, 1000)
	program, err := exec.LookPath("understudy")
	ts.Check(err)
	env := append(environ(ts), a.mark)
	if slices.Contains(args, "--transport") {
		a.client = a.connectHTTP(ts, program, env, args)
	} else {
		a.cmd = exec.Command(program, append([]string{"serve"}, args...)...)
		a.cmd.Env, a.cmd.Dir, a.cmd.Stderr = env, ts.MkAbs("."), &a.stderr
		link, err := startStdio(a.cmd)
		ts.Check(err)
		a.client = client.NewClient(link, patientDiscovery)
	}
	ts.Defer(func() {
		_ = a.client.Close()
		ts.Logf("server's log:\n%s", a.stderr.String())
	})
	a.client.OnNotification(a.note)
	ts.Check(a.client.Start(context.Background())) // the process runs already; this begins the notifications
	hello := mcp.InitializeRequest{}
	hello.Params.ProtocolVersion = mcp.LATEST_PROTOCOL_VERSION
	hello.Params.ClientInfo = mcp.Implementation{Name: "testscript", Version: "1"}
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	_, err = a.client.Initialize(ctx, hello)
	if neg != (err != nil) {
		ts.Fatalf("initialize: %v\n%s", err, a.stderr.String())
	}
}

func environ(ts *testscript.TestScript) []string {
	var env []string
	for _, name := range []string{"UNDERSTUDY_DATA_DIR", "UNDERSTUDY_LOG_LEVEL", "UNDERSTUDY_PYTHON", "UNDERSTUDY_ECHO", "HOME"} {
		if value := ts.Getenv(name); value != "" {
			env = append(env, name+"="+value)
		}
	}
	return append(os.Environ(), env...)
}

func (a *agent) note(n mcp.JSONRPCNotification) {
	if message, ok := n.Params.AdditionalFields["message"].(string); ok {
		a.mu.Lock()
		a.progress = append(a.progress, message)
		a.mu.Unlock()
		a.arrived <- struct{}{}
	}
}

// call makes one tool call and prints the text of its answer.
func (a *agent) call(ctx context.Context, ts *testscript.TestScript, tool string, args map[string]any) error {
	a.forgetProgress()
	request := mcp.CallToolRequest{}
	request.Params.Name, request.Params.Arguments = tool, args
	request.Params.Meta = &mcp.Meta{ProgressToken: "token"}
	ctx, cancel := context.WithTimeout(ctx, 2*time.Minute)
	defer cancel()
	result, err := a.client.CallTool(ctx, request)
	if err != nil {
		return err
	}
	a.last = result
	for _, content := range result.Content {
		if text, ok := content.(mcp.TextContent); ok {
			fmt.Fprintln(ts.Stdout(), text.Text)
		}
	}
	if id, ok := a.field("interpreter_id").(string); ok {
		ts.Setenv("ID", id)
	}
	return nil
}

// answered checks whether the call was refused, as the script expects.
func (a *agent) answered(ts *testscript.TestScript, neg bool, err error) {
	ts.Check(err)
	if a.last.IsError != neg {
		ts.Fatalf("isError is %t", a.last.IsError)
	}
}

// cmdPy runs its first argument as code.
func cmdPy(ts *testscript.TestScript, neg bool, args []string) {
	a := agentOf(ts)
	a.answered(ts, neg, a.call(context.Background(), ts, "run_python_code", arguments(ts, args[1:], "code", strings.ReplaceAll(args[0], `\n`, "\n"))))
}

// cmdRun runs a file of the archive.
func cmdRun(ts *testscript.TestScript, neg bool, args []string) {
	a := agentOf(ts)
	a.answered(ts, neg, a.call(context.Background(), ts, "run_python_code", arguments(ts, args[1:], "code", ts.ReadFile(args[0]))))
}

// cmdSh runs its first argument as a shell command.
func cmdSh(ts *testscript.TestScript, neg bool, args []string) {
	a := agentOf(ts)
	a.answered(ts, neg, a.call(context.Background(), ts, "run_shell_command", arguments(ts, args[1:], "command", strings.ReplaceAll(args[0], `\n`, "\n"))))
}

func cmdManage(ts *testscript.TestScript, neg bool, args []string) {
	a := agentOf(ts)
	a.answered(ts, neg, a.call(context.Background(), ts, "manage_interpreters", arguments(ts, args[1:], "operation", args[0])))
}

// cmdCall calls a tool by its name.
func cmdCall(ts *testscript.TestScript, neg bool, args []string) {
	a := agentOf(ts)
	given := arguments(ts, args[1:], "", nil)
	delete(given, "")
	a.answered(ts, neg, a.call(context.Background(), ts, args[0], given))
}

// cmdTools prints the tools: names, arguments and descriptions.
func cmdTools(ts *testscript.TestScript, _ bool, _ []string) {
	listed, err := agentOf(ts).client.ListTools(context.Background(), mcp.ListToolsRequest{})
	ts.Check(err)
	for _, tool := range listed.Tools {
		names := slices.Sorted(maps.Keys(tool.InputSchema.Properties))
		fmt.Fprintf(ts.Stdout(), "%s(%s): %s\n", tool.Name, strings.Join(names, ", "), tool.Description)
	}
}

// cmdCancel runs a file, and cancels the call when a progress message matches.
func cmdCancel(ts *testscript.TestScript, _ bool, args []string) {
	ctx, cancel := context.WithCancel(context.Background())
	done := agentOf(ts).callUntil(ctx, ts, args[1], "run_python_code", arguments(ts, args[2:], "code", ts.ReadFile(args[0])))
	cancel()
	if err := <-done; err == nil {
		ts.Fatalf("the cancelled call was answered")
	}
}

// cmdMeanwhile makes an empty file once the progress of an operation matches.
func cmdMeanwhile(ts *testscript.TestScript, neg bool, args []string) {
	a := agentOf(ts)
	done := a.callUntil(context.Background(), ts, args[0], "manage_interpreters", arguments(ts, args[3:], "operation", args[2]))
	ts.Check(os.WriteFile(ts.MkAbs(args[1]), nil, 0o600))
	a.answered(ts, neg, <-done)
}

// callUntil makes a call and returns once its progress matches; the channel tells how
// it ends.
func (a *agent) callUntil(ctx context.Context, ts *testscript.TestScript, expression, tool string, args map[string]any) <-chan error {
	pattern := regexp.MustCompile(expression)
	a.forgetProgress() // of the call before
	done := make(chan error, 1)
	go func() { done <- a.call(ctx, ts, tool, args) }()
	for !a.progressed(pattern) {
		select {
		case <-a.arrived:
		case err := <-done:
			ts.Fatalf("the call ended before there was progress like %s: %v", expression, err)
		}
	}
	return done
}

// cmdDescribe prints a tool's description as tools/list gives it.
func cmdDescribe(ts *testscript.TestScript, neg bool, args []string) {
	listed, err := agentOf(ts).client.ListTools(context.Background(), mcp.ListToolsRequest{})
	ts.Check(err)
	i := slices.IndexFunc(listed.Tools, func(t mcp.Tool) bool { return t.Name == args[0] })
	if (i < 0) != neg {
		ts.Fatalf("there are %d tools, and %s is the number %d", len(listed.Tools), args[0], i)
	}
	if i >= 0 {
		fmt.Fprintln(ts.Stdout(), listed.Tools[i].Description)
	}
}

// arguments reads name=value pairs; what looks like JSON is JSON.
func arguments(ts *testscript.TestScript, pairs []string, name string, value any) map[string]any {
	all := map[string]any{name: value}
	for _, pair := range pairs {
		key, text, ok := strings.Cut(pair, "=")
		if !ok {
			ts.Fatalf("%q is not name=value", pair)
		}
		var v any
		if json.Unmarshal([]byte(text), &v) != nil {
			v = text
		}
		all[key] = v
	}
	return all
}

// cmdImages checks the number of images, and that each is a PNG or JPEG that
// fits the limits; with a second argument, its longest side.
func cmdImages(ts *testscript.TestScript, _ bool, args []string) {
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	n := 0
	for _, content := range agentOf(ts).last.Content {
		img, ok := content.(mcp.ImageContent)
		if !ok {
			continue
		}
		n++
		data, err := base64.StdEncoding.DecodeString(img.Data)
		ts.Check(err)
		if img.MIMEType == "image/png" {
			config, err := png.DecodeConfig(bytes.NewReader(data))
			ts.Check(err)
			if longest := max(config.Width, config.Height); longest > 1568 || len(args) > 1 && strconv.Itoa(longest) != args[1] {
				ts.Fatalf("image %d is %d×%d", n, config.Width, config.Height)
			}
		}
	}
	if n != want {
		ts.Fatalf("%d images, not %d", n, want)
	}
}

// field returns the value at a dotted path of the last record.
func (a *agent) field(path string) any {
	value := a.last.StructuredContent
	for _, key := range strings.Split(path, ".") {
		switch v := value.(type) {
		case map[string]any:
			value = v[key]
		case []any:
			i, err := strconv.Atoi(key)
			if err != nil || i >= len(v) {
				return nil
			}
			value = v[i]
		default:
			return nil
		}
	}
	return value
}

// cmdRecord compares a field of the record with JSON, or checks that it is
// absent. The value PNG stands for a data URI of one.
func cmdRecord(ts *testscript.TestScript, neg bool, args []string) {
	got := agentOf(ts).field(args[0])
	if neg {
		if got != nil {
			ts.Fatalf("%s is %v", args[0], got)
		}
		return
	}
	var want any
	if text, ok := got.(string); ok && args[1] == "PNG" {
		data, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(text, "data:image/png;base64,"))
		ts.Check(err)
		_, err = png.DecodeConfig(bytes.NewReader(data))
		ts.Check(err)
		return
	}
	if json.Unmarshal([]byte(args[1]), &want) != nil {
		want = args[1]
	}
	if diff := cmp.Diff(want, got); diff != "" {
		ts.Fatalf("%s is not as wanted (-want +got):\n%s", args[0], diff)
	}
}

func (a *agent) forgetProgress() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.progress = nil
}

func (a *agent) progressed(pattern *regexp.Regexp) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, message := range a.progress {
		if pattern.MatchString(message) {
			return true
		}
	}
	return false
}

// cmdProgress checks that the last call was told of something.
func cmdProgress(ts *testscript.TestScript, neg bool, args []string) {
	a := agentOf(ts)
	if a.progressed(regexp.MustCompile(args[0])) == neg {
		ts.Fatalf("progress was %q", a.progress)
	}
}

// cmdLeave closes the conversation; the server must end and leave no process.
func cmdLeave(ts *testscript.TestScript, _ bool, _ []string) {
	a := agentOf(ts)
	ts.Check(a.client.Close())
	if left := marked(a.mark); len(left) > 0 {
		ts.Fatalf("processes are left: %v", left)
	}
}

// cmdKillServer kills the server with SIGKILL; nobody may outlive it for long.
func cmdKillServer(ts *testscript.TestScript, _ bool, _ []string) {
	a := agentOf(ts)
	ts.Check(a.cmd.Process.Kill())
	deadline := time.Now().Add(time.Minute)
	for left := marked(a.mark); len(left) > 0; left = marked(a.mark) {
		if time.Now().After(deadline) {
			ts.Fatalf("processes are left: %v", left)
		}
		time.Sleep(20 * time.Millisecond)
	}
}

// markName is the environment variable that marks the processes of a test. It
// doesn't begin like the server's own, which workers do not inherit.
const markName = "MARK_OF_TEST"

// marked returns the processes that have mark in their environment. Elsewhere
// than on Linux it sees none.
func marked(mark string) []string {
	var found []string
	paths, _ := filepath.Glob("/proc/[0-9]*/environ")
	for _, path := range paths {
		file, err := os.Open(path)
		if err != nil {
			continue
		}
		environ, _ := io.ReadAll(file) // it may end while we read
		_ = file.Close()
		if bytes.Contains(environ, []byte(mark)) {
			command, _ := os.ReadFile(filepath.Join(filepath.Dir(path), "cmdline"))
			found = append(found, fmt.Sprintf("%s %q", filepath.Base(filepath.Dir(path)), command))
		}
	}
	return found
}
