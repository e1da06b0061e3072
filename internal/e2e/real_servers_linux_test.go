package e2e

import (
	"bytes"
	"crypto/rand"
	"database/sql"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/mark3labs/mcp-go/client"
	_ "modernc.org/sqlite" // the driver "sqlite"
)

// realServers is a server with the reference servers of the protocol, as "make conformance"
// has installed them, behind it.
type realServers struct {
	t    *testing.T
	c    *client.Client
	user *person
	data string // its data directory
	mark string // of the environment of the servers' processes

	servers map[string][]string // the command lines
}

// openRealServers starts a server with them, in the strict sandbox.
func openRealServers(t *testing.T, options []client.ClientOption, flags ...string) *realServers {
	t.Helper()
	r := &realServers{t: t, user: &person{}, data: t.TempDir(), mark: markName + "=" + rand.Text()}
	arguments := append([]string{"serve", "--sandbox", "strict", "--mcp", r.file()}, flags...)
	cmd := command(t, arguments...)
	cmd.Env = append(cmd.Env, "UNDERSTUDY_DATA_DIR="+r.data)
	must(t, os.Chmod(cmd.Dir, 0o777|os.ModeSticky)) // who runs the code is not root
	var log serverLog
	cmd.Stderr = &log
	t.Cleanup(func() { t.Logf("the server's log:\n%s", log.String()) })
	r.c = spawn(t, cmd, append(options, client.WithElicitationHandler(r.user))...)
	return r
}

// file writes the file of --mcp.
func (r *realServers) file() string {
	r.t.Helper()
	place := os.Getenv("UNDERSTUDY_CONFORMANCE")
	if place == "" || os.Getenv("UNDERSTUDY_TEST_PYTHON") == "" {
		r.t.Skip(`needs programs of npm and PyPI; run "make conformance"`)
	}
	dir, files := r.t.TempDir(), r.t.TempDir()
	for n := range 8 {
		writeFile(r.t, filepath.Join(files, fmt.Sprint(n, ".txt")), fmt.Sprintln("file", n))
	}
	_, mark, _ := strings.Cut(r.mark, "=")
	servers := map[string]any{}
	r.servers = map[string][]string{}
	add := func(name string, argv ...string) {
		r.servers[name] = argv
		servers[name] = map[string]any{"command": argv[0], "args": argv[1:], "env": map[string]string{
			markName: mark, "MEMORY_FILE_PATH": filepath.Join(dir, "memory.jsonl"), "API_KEY": "S3CRET-OF-" + name,
		}}
	}
	for name, argument := range map[string]string{"everything": "stdio", "memory": "", "filesystem": files} {
		add(name, nodeOf(place), filepath.Join(place, "node_modules", ".bin", "mcp-server-"+name), argument)
	}
	add("time", filepath.Join(place, "python", "bin", "mcp-server-time"))
	add("sqlite", filepath.Join(place, "pythonv1", "bin", "mcp-server-sqlite"), "--db-path", filepath.Join(dir, "orders.db"))
	text, err := json.Marshal(map[string]any{"mcpServers": servers})
	must(r.t, err)
	path := filepath.Join(dir, "servers.json")
	writeFile(r.t, path, string(text))
	return path
}

// nodeOf is the installed Node where there is one for this machine, else that on PATH.
func nodeOf(place string) string {
	found, _ := filepath.Glob(filepath.Join(place, "node_modules", "node-linux-*", "bin", "node"))
	return append(found, "node")[0]
}

// run runs code and expects that it says so.
func (r *realServers) run(code, stdout string, more ...any) (record map[string]any) {
	r.t.Helper()
	record, text := run(r.t, r.c, code, more...)
	expect(r.t, record["stdout"] == stdout, "%s: stdout is %q\n%s", code, record["stdout"], text)
	return record
}

// kill ends the process of a server of that name at once.
func (r *realServers) kill(name string) {
	r.t.Helper()
	for _, process := range marked(r.mark) {
		number, line, _ := strings.Cut(process, " ")
		if pid, err := strconv.Atoi(number); err == nil && strings.Contains(line, "mcp-server-"+name) {
			must(r.t, syscall.Kill(pid, syscall.SIGKILL))
			return
		}
	}
	r.t.Fatalf("there is no process of %s among %q", name, marked(r.mark))
}

// TestRealServers: one run calls the tools of five servers that others wrote thirty times,
// and the journal has all of it, so that an exported script says the same without them.
func TestRealServersAnswerThirtyCalls(t *testing.T) {
	t.Parallel()
	r := openRealServers(t, nil, "--mcp-allow", "memory.create_entities,sqlite.read_query")
	code, err := os.ReadFile("testdata/mcp/thirty_calls.py")
	must(t, err)
	want := "{'everything': 11, 'filesystem': 8, 'memory': 3, 'sqlite': 1, 'time': 6}\n1 file 7\n" +
		"['+0.0h', '+1.0h', '+2.0h', '+5.5h', '+9.0h', '-5.0h']\n"
	record := r.run(string(code), want)
	calls, _ := record["tool_calls"].(map[string]any)
	expect(t, fmt.Sprint(calls["count"], calls["failed"]) == "30 0" || fmt.Sprint(calls["count"], calls["failed"]) == "30 <nil>", "the record has %v", calls)
	expect(t, len(r.user.heard()) == 0, "the user was asked %q", r.user.heard())
	must(t, r.c.Close())
	count, servers := r.journal()
	expect(t, count == 30 && servers == 5, "the journal has %d calls of %d servers", count, servers)

	script := filepath.Join(t.TempDir(), "exported.py")
	cmd := command(t, "export", "--format", "py", "--data-dir", r.data, "-o", script)
	said, err := finish(cmd)
	insist(t, err == nil, "export: %v\n%s", err, said)
	said, err = finish(exec.Command(python(), script))
	expect(t, err == nil && said == want, "the exported script ends with %v and says %q", err, said)
}

// journal counts the calls that the journal has, and their servers.
func (r *realServers) journal() (calls, servers int) {
	r.t.Helper()
	db, err := sql.Open("sqlite", filepath.Join(r.data, "journal.db"))
	must(r.t, err)
	defer db.Close()
	must(r.t, db.QueryRow(`SELECT count(*), count(DISTINCT server) FROM tool_calls WHERE status = 'ok' AND result IS NOT NULL`).Scan(&calls, &servers))
	return calls, servers
}

// TestRealServersKeepTheirKeys: everything has a tool that only reads, and tells its
// environment.
func TestRealServersKeepTheirKeys(t *testing.T) {
	t.Parallel()
	r := openRealServers(t, nil)
	r.run("from mcptools import everything\ntold = str(everything.get_env())\nprint('API_KEY' in told, 'S3CRET' in told)", "True False\n")
	must(t, r.c.Close())
	for _, name := range []string{"journal.db", "journal.db-wal"} {
		kept, err := os.ReadFile(filepath.Join(r.data, name))
		expect(t, (err == nil || os.IsNotExist(err)) && !bytes.Contains(kept, []byte("S3CRET-OF")), "%s has a key of a server's: %v", name, err)
	}
}

// TestRealServersComeBack: a server that is killed is an error of the call that waits, and is
// back for a later one; calls go on after undo, in a branch and after a crash.
func TestRealServersComeBack(t *testing.T) {
	t.Parallel()
	r := openRealServers(t, nil)
	record := r.run("import mcptools, time\nfrom mcptools import everything\nkept = everything.echo('hi')\nprint(kept)", "Echo: hi\n")
	id := record["interpreter_id"].(string)
	record, _ = run(t, r.c, diesAndComesBack, "interpreter_id", id, "wait", 1)
	insist(t, record["status"] == "running", "the code does not wait for the server: %v", record)
	r.kill("everything")
	record, _ = manage(t, r.c, "wait", "interpreter_id", id, "wait", 60)
	expect(t, record["stdout"] == "unavailable\nEcho: back\n", "%v", record)

	record, _ = run(t, r.c, "everything.trigger_long_running_operation(600, 600)", "interpreter_id", id, "wait", 1)
	insist(t, record["status"] == "running", "the code does not wait for the server: %v", record)
	manage(t, r.c, "interrupt", "interpreter_id", id)
	record, _ = manage(t, r.c, "wait", "interpreter_id", id, "wait", 60)
	expect(t, record["status"] == "interrupted", "%v", record)

	r.run("kept = 'lost'", "", "interpreter_id", id)
	manage(t, r.c, "undo", "interpreter_id", id)
	r.run("print(kept, everything.get_sum(1, 2))", "Echo: hi The sum of 1 and 2 is 3.\n", "interpreter_id", id)
	branch, _ := manage(t, r.c, "branch", "interpreter_id", id)
	for _, each := range []string{id, branch["interpreter_id"].(string)} {
		_, _ = run(t, r.c, "import os\nos.abort()", "interpreter_id", each)
		r.run("print(kept, everything.get_sum(3, 4))", "Echo: hi The sum of 3 and 4 is 7.\n", "interpreter_id", each)
	}
}

const diesAndComesBack = `
try:
    everything.trigger_long_running_operation(duration=600, steps=600)
except mcptools.ToolError as error:
    print(error.kind)
while True:
    try:
        print(everything.echo("back"))
        break
    except mcptools.ToolError:
        time.sleep(0.05)
`

// commandOf starts in a directory of its own, as memory keeps its file where it is told to.
func commandOf(t *testing.T, argv []string) *exec.Cmd {
	t.Helper()
	cmd := exec.Command(argv[0], argv[1:]...)
	cmd.Dir = t.TempDir()
	cmd.Env = append(os.Environ(), "MEMORY_FILE_PATH="+filepath.Join(cmd.Dir, "memory.jsonl"))
	return cmd
}
