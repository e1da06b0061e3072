package e2e

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
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

	"github.com/mark3labs/mcp-go/client"
	"github.com/mark3labs/mcp-go/client/transport"
	"github.com/mark3labs/mcp-go/mcp"
	"github.com/rogpeppe/go-internal/testscript"
)

// TestScripts runs the conversations below testdata/script against the real
// server with a real Python; testdata/script/README.md lists their commands.
func TestScripts(t *testing.T) {
	examples, err := filepath.Abs(root + "examples")
	must(t, err)
	scripts, err := filepath.Glob(root + "testdata/script/*/*.txtar")
	must(t, err)
	if strays, _ := filepath.Glob(root + "testdata/script/*.txtar"); len(strays) > 0 {
		t.Errorf("%q are not run: they belong into a folder", strays)
	}
	testscript.Run(t, testscript.Params{
		Files:     scripts,
		Condition: scriptCondition,
		Setup: func(env *testscript.Env) error {
			env.Setenv("UNDERSTUDY_DATA_DIR", filepath.Join(env.WorkDir, ".data"))
			env.Setenv("UNDERSTUDY_LOG_LEVEL", "warn")
			env.Setenv("HOME", filepath.Join(env.WorkDir, ".home")) // the directory above it is a project
			env.Setenv("EXAMPLES", examples)
			if path := os.Getenv("UNDERSTUDY_TEST_PYTHON"); path != "" {
				env.Setenv("UNDERSTUDY_PYTHON", path)
			}
			env.Values[agentKey{}] = &agent{}
			return nil
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"serve": cmdServe, "leave": cmdLeave, "killserver": cmdKillServer, "terminate": cmdTerminate, "venv": cmdVenv,
			"py":     calls("run_python_code", "code", unescaped),
			"run":    calls("run_python_code", "code", (*testscript.TestScript).ReadFile),
			"sh":     calls("run_shell_command", "command", unescaped),
			"manage": calls("manage_interpreters", "operation", unescaped),
			"call":   cmdCall, "again": cmdAgain, "cancel": cmdCancel, "meanwhile": cmdMeanwhile, "warm": cmdWarm,
			"tools": cmdTools, "describe": cmdDescribe, "images": cmdImages, "record": cmdRecord, "progress": cmdProgress,
			"read": cmdRead, "resources": cmdResources, "links": cmdLinks, "listen": cmdListen, "hear": cmdHear,
		},
	})
}

func scriptCondition(name string) (bool, error) {
	if module, ok := strings.CutPrefix(name, "python:"); ok {
		return exec.Command(python(), "-c", "import "+module).Run() == nil, nil
	}
	if version, ok := strings.CutPrefix(name, "python>="); ok {
		check := fmt.Sprintf("import sys; sys.exit(sys.version_info < tuple(map(int, %q.split('.'))))", version)
		return exec.Command(python(), "-c", check).Run() == nil, nil
	}
	return false, fmt.Errorf("unknown condition %q", name)
}

type agentKey struct{}

// agent is the client of a script's server, with the last answer.
type agent struct {
	client *client.Client
	mark   string // in the environment of every process of the server's
	cmd    *exec.Cmd
	server *server // over HTTP
	last   *mcp.CallToolResult
	again  func() error // makes the last call once more

	mu       sync.Mutex
	progress []string
	arrived  chan struct{} // gets a token with each progress message

	heard chan string // what came to who listens
}

func agentOf(ts *testscript.TestScript) *agent {
	return ts.Value(agentKey{}).(*agent)
}

// cmdServe starts a server with the given flags and greets it.
func cmdServe(ts *testscript.TestScript, neg bool, args []string) {
	a := agentOf(ts)
	a.mark = markName + "=" + rand.Text()
	a.arrived = make(chan struct{}, 1000)
	a.cmd = exec.Command(binary, append([]string{"serve"}, args...)...)
	a.cmd.Dir, a.cmd.Env = ts.MkAbs("."), append(os.Environ(), a.mark)
	a.cmd.Env = append(a.cmd.Env, "PYTHONDONTWRITEBYTECODE=1") // what Python leaves beside a module is not ours
	for _, name := range []string{"UNDERSTUDY_DATA_DIR", "UNDERSTUDY_LOG_LEVEL", "UNDERSTUDY_PYTHON", "UNDERSTUDY_ECHO", "HOME"} {
		if value := ts.Getenv(name); value != "" {
			a.cmd.Env = append(a.cmd.Env, name+"="+value)
		}
	}
	link, log := a.reach(ts, args)
	options := []client.ClientOption{patience}
	if a.server != nil && ts.Getenv("ERA") != "modern" {
		options = append(options, client.WithLegacyProtocolOnly())
	}
	a.client = client.NewClient(link, options...)
	ts.Defer(func() {
		_ = a.client.Close()
		ts.Logf("server's log:\n%s", log)
	})
	a.client.OnNotification(a.note)
	if err := introduce(a.client, "testscript"); neg != (err != nil) {
		ts.Fatalf("initialize: %v\n%s", err, log)
	}
}

// reach starts the server and returns a way to it, and its log. Where it serves nothing else
// the way is SSE.
func (a *agent) reach(ts *testscript.TestScript, args []string) (link transport.Interface, log *serverLog) {
	var err error
	a.server = nil
	if !slices.Contains(args, "--transport") {
		log = &serverLog{}
		a.cmd.Stderr = log
		link, err = startStdio(a.cmd)
		ts.Check(err)
		return link, log
	}
	a.cmd.Args = slices.Insert(a.cmd.Args, 2, "--addr", "127.0.0.1:0", "--log-level", "info")
	s, err := launch(a.cmd)
	ts.Check(err)
	ts.Defer(s.kill)
	a.server = s
	if strings.HasSuffix(strings.Join(args, " "), "--transport sse") {
		link, err = transport.NewSSE(s.url + "/sse")
	} else {
		link, err = transport.NewStreamableHTTP(s.url + "/mcp")
	}
	ts.Check(err)
	return link, &s.log
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
	a.again = func() error { return a.call(context.Background(), ts, tool, args) }
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

// calls is a command that calls a tool, whose first argument stands for one of the tool's.
func calls(tool, argument string, read func(*testscript.TestScript, string) string) func(*testscript.TestScript, bool, []string) {
	return func(ts *testscript.TestScript, neg bool, args []string) {
		a, given := agentOf(ts), arguments(ts, args[1:])
		given[argument] = read(ts, args[0])
		a.answered(ts, neg, a.call(context.Background(), ts, tool, given))
	}
}

func unescaped(_ *testscript.TestScript, text string) string {
	return strings.ReplaceAll(text, `\n`, "\n")
}

// cmdCall calls a tool by its name.
func cmdCall(ts *testscript.TestScript, neg bool, args []string) {
	a := agentOf(ts)
	a.answered(ts, neg, a.call(context.Background(), ts, args[0], arguments(ts, args[1:])))
}

// cmdAgain makes the last call so many times more; each record has a field.
func cmdAgain(ts *testscript.TestScript, _ bool, args []string) {
	times, err := strconv.Atoi(args[0])
	ts.Check(err)
	for range times {
		a := agentOf(ts)
		a.answered(ts, false, a.again())
		cmdRecord(ts, false, args[1:])
	}
}

// arguments reads name=value pairs; what looks like JSON is JSON.
func arguments(ts *testscript.TestScript, pairs []string) map[string]any {
	all := map[string]any{}
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

// cmdCancel runs a file, and cancels the call when a progress message matches.
func cmdCancel(ts *testscript.TestScript, _ bool, args []string) {
	ctx, cancel := context.WithCancel(context.Background())
	done := agentOf(ts).runUntil(ctx, ts, args)
	cancel()
	if err := <-done; err == nil {
		ts.Fatalf("the cancelled call was answered")
	}
}

// cmdMeanwhile makes an empty file once the progress of an operation matches.
func cmdMeanwhile(ts *testscript.TestScript, neg bool, args []string) {
	a, given := agentOf(ts), arguments(ts, args[3:])
	given["operation"] = args[2]
	done := a.callUntil(context.Background(), ts, args[0], "manage_interpreters", given)
	ts.Check(os.WriteFile(ts.MkAbs(args[1]), nil, 0o600))
	a.answered(ts, neg, <-done)
}

// runUntil runs a file: its name, an expression for the progress, and pairs.
func (a *agent) runUntil(ctx context.Context, ts *testscript.TestScript, args []string) <-chan error {
	given := arguments(ts, args[2:])
	given["code"] = ts.ReadFile(args[0])
	return a.callUntil(ctx, ts, args[1], "run_python_code", given)
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

// cmdWarm makes interpreters until one has a module imported that it did not
// import itself: before the zygote is warm they come without. That one is $ID.
func cmdWarm(ts *testscript.TestScript, neg bool, args []string) {
	a, ctx := agentOf(ts), context.Background()
	code := fmt.Sprintf("__import__('sys').exit(%q not in __import__('sys').modules)", args[0])
	// A pause, as whoever makes interpreters takes the zygote's time.
	for deadline := time.Now().Add(5 * time.Minute); time.Now().Before(deadline); time.Sleep(100 * time.Millisecond) {
		a.answered(ts, neg, a.call(ctx, ts, "manage_interpreters", map[string]any{"operation": "create"}))
		id := a.field("interpreter_id")
		a.answered(ts, neg, a.call(ctx, ts, "run_python_code", map[string]any{"code": code, "interpreter_id": id}))
		if a.field("status") == "ok" { // exit(False) is a clean one
			return
		}
		a.answered(ts, neg, a.call(ctx, ts, "manage_interpreters", map[string]any{"operation": "delete", "interpreter_id": id}))
	}
	ts.Fatalf("no interpreter had %s imported from the start", args[0])
}

// cmdLeave closes the conversation; the server must end and leave no process.
func cmdLeave(ts *testscript.TestScript, _ bool, _ []string) {
	a := agentOf(ts)
	ts.Check(a.client.Close())
	a.leftNothing(ts)
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

// cmdTerminate asks the server to end, which must leave no process. With a file and
// an expression it does so while the file runs, once the progress matches; the
// call must be answered.
func cmdTerminate(ts *testscript.TestScript, _ bool, args []string) {
	a := agentOf(ts)
	var done <-chan error
	if len(args) > 0 {
		done = a.runUntil(context.Background(), ts, args)
	}
	a.server.terminate()
	if done != nil {
		ts.Check(<-done)
	}
	ts.Check(a.server.stop())
	a.leftNothing(ts)
	fmt.Fprint(ts.Stderr(), a.server.log.String())
}

func (a *agent) leftNothing(ts *testscript.TestScript) {
	if left := marked(a.mark); len(left) > 0 {
		ts.Fatalf("processes are left: %v", left)
	}
}

// cmdVenv makes virtual environments without packages.
func cmdVenv(ts *testscript.TestScript, _ bool, args []string) {
	for _, dir := range args {
		out, err := exec.Command(python(), "-m", "venv", "--without-pip", ts.MkAbs(dir)).CombinedOutput()
		if err != nil {
			ts.Fatalf("making %s: %v\n%s", dir, err, out)
		}
	}
}
