package tools

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"understudy/sessions"
)

// fakeManager does what its fields say; a call without its field panics.
type fakeManager struct {
	run       func(context.Context, sessions.Client, sessions.RunRequest) (*sessions.Result, error)
	wait      func(context.Context, sessions.Client, string, time.Duration, func(sessions.Progress)) (*sessions.Result, error)
	await     func(context.Context, sessions.Client, sessions.WaitRequest) (*sessions.Result, error) // before wait
	create    func(context.Context, sessions.Client) (sessions.Listing, error)
	list      func(context.Context, sessions.Client) ([]sessions.Listing, error)
	show      func(context.Context, sessions.Client, string) (sessions.Listing, error)
	delete    func(context.Context, sessions.Client, string) error
	restart   func(context.Context, sessions.Client, string) (sessions.Listing, error)
	interrupt func(context.Context, sessions.Client, string) (*sessions.Interruption, error)
	branch    func(context.Context, sessions.Client, string) (sessions.Listing, error)
	undo      func(context.Context, sessions.Client, string) (*sessions.Undone, error)
	variables func(context.Context, sessions.Client, string) (sessions.Namespace, []string, error)
	upload    func(context.Context, sessions.Client, string, string, []byte) (*sessions.Upload, error)
	set       func(context.Context, sessions.Client, string, map[string]*string) (*sessions.Setting, error)
	farewell  string
}

func (f *fakeManager) Run(ctx context.Context, c sessions.Client, r sessions.RunRequest) (*sessions.Result, error) {
	return f.run(ctx, c, r)
}

func (f *fakeManager) Await(ctx context.Context, c sessions.Client, r sessions.WaitRequest) (*sessions.Result, error) {
	if f.await != nil {
		return f.await(ctx, c, r)
	}
	return f.wait(ctx, c, r.InterpreterID, r.Wait, r.Progress)
}

func (f *fakeManager) Create(ctx context.Context, c sessions.Client, _ sessions.CreateRequest) (sessions.Listing, error) {
	return f.create(ctx, c)
}

func (f *fakeManager) List(ctx context.Context, c sessions.Client) ([]sessions.Listing, error) {
	return f.list(ctx, c)
}

func (f *fakeManager) Show(ctx context.Context, c sessions.Client, id string) (sessions.Listing, error) {
	return f.show(ctx, c, id)
}

func (f *fakeManager) Delete(ctx context.Context, c sessions.Client, id string) error {
	return f.delete(ctx, c, id)
}

func (f *fakeManager) Restart(ctx context.Context, c sessions.Client, id string) (sessions.Listing, error) {
	return f.restart(ctx, c, id)
}

func (f *fakeManager) Interrupt(ctx context.Context, c sessions.Client, id string) (*sessions.Interruption, error) {
	return f.interrupt(ctx, c, id)
}

func (f *fakeManager) Branch(ctx context.Context, c sessions.Client, id string) (sessions.Listing, error) {
	return f.branch(ctx, c, id)
}

func (f *fakeManager) Undo(ctx context.Context, c sessions.Client, id string) (*sessions.Undone, error) {
	return f.undo(ctx, c, id)
}

func (f *fakeManager) Variables(ctx context.Context, c sessions.Client, id string) (sessions.Namespace, []string, error) {
	return f.variables(ctx, c, id)
}

func (f *fakeManager) Upload(ctx context.Context, c sessions.Client, id, path string, data []byte) (*sessions.Upload, error) {
	return f.upload(ctx, c, id, path, data)
}

func (f *fakeManager) SetVariables(ctx context.Context, c sessions.Client, id string, v map[string]*string) (*sessions.Setting, error) {
	return f.set(ctx, c, id, v)
}

func (f *fakeManager) Farewell(sessions.Client) string { return f.farewell }

func listing(name string) sessions.Listing {
	return sessions.Listing{ID: name, Status: "running", Executions: 1, Age: 3600, Idle: 65, Python: "3.11.7", Workdir: "/data/" + name, Recoverable: true}
}

// working answers every operation of a client that owns interpreter "7f".
func working() *fakeManager {
	length := 150
	return &fakeManager{
		create: func(context.Context, sessions.Client) (sessions.Listing, error) { return listing("9b"), nil },
		list: func(context.Context, sessions.Client) ([]sessions.Listing, error) {
			busy := listing("9b")
			busy.Status, busy.Running, busy.Executions, busy.Memory, busy.Waiting, busy.Failures = "busy", 12, 11, 70<<20, 2, 3
			busy.Recoverable, busy.Obstacle = false, "2 Python threads are running (Thread-1, Thread-2)"
			child := listing("c4")
			child.Parent, child.Memory, child.Private, child.Copies, child.Shared = "7f", 92<<20, 12<<20, 4<<20, 84<<20
			dead := listing("d1")
			dead.Ended, dead.Unfetched, dead.Python = "its process has ended; the next run brings its variables back", 1, ""
			usual := listing("7f")
			usual.Default, usual.InitError = true, "NameError: np\n"
			usual.SessionVariables = []string{"db", "key"}
			return []sessions.Listing{usual, busy, child, dead}, nil
		},
		delete: func(_ context.Context, _ sessions.Client, id string) error { return owns(id) },
		restart: func(_ context.Context, _ sessions.Client, id string) (sessions.Listing, error) {
			return listing("7f"), owns(id)
		},
		interrupt: func(_ context.Context, _ sessions.Client, id string) (*sessions.Interruption, error) {
			if err := owns(id); err != nil {
				return nil, err
			}
			return &sessions.Interruption{InterpreterID: "7f", Execution: 3, Elapsed: 2 * time.Second, Stopped: true, StateKept: true, Message: "stopped execution 3 after 2s; its variables are kept", Notes: []string{"execution 2 crashed"}}, nil
		},
		branch: func(_ context.Context, _ sessions.Client, id string) (sessions.Listing, error) {
			child := listing("c4")
			child.Parent, child.Notes = "7f", []string{"1 child process stays with 7f"}
			return child, owns(id)
		},
		undo: func(_ context.Context, _ sessions.Client, id string) (*sessions.Undone, error) {
			if err := owns(id); err != nil {
				return nil, err
			}
			return &sessions.Undone{InterpreterID: "7f", Execution: 3, Left: 1, Notes: []string{"a note"}, Message: "execution 3 is undone"}, nil
		},
		variables: func(_ context.Context, _ sessions.Client, id string) (sessions.Namespace, []string, error) {
			return sessions.Namespace{
				Variables: []sessions.Variable{
					{Name: "df", Type: "DataFrame", Shape: []int{150, 4}, Size: 4932, Repr: "<DataFrame,\n 150 rows>"},
					{Name: "names", Type: "list", Length: &length, Size: 900, Repr: "['a', …]"},
					{Name: "model", Type: "Model", Size: 48, Repr: "<Model object>"},
					{Name: "x", Type: "int", Size: 28, Repr: "3"},
				},
				Functions: []string{"area(r)", "async load(path, sep=',')"},
				Classes:   []string{"Model"},
				Imports:   []string{"Path", "np (numpy)"},
			}, []string{"execution 2 crashed"}, owns(id)
		},
		set: func(_ context.Context, _ sessions.Client, id string, variables map[string]*string) (*sessions.Setting, error) {
			if variables["key"] == nil || *variables["key"] != "v" || len(variables) != 2 {
				return nil, fmt.Errorf("got %v", variables)
			}
			return &sessions.Setting{InterpreterID: "7f", Set: []string{"key"}, Removed: []string{"old"}, Names: []string{"db", "key"}}, owns(id)
		},
		upload: func(_ context.Context, _ sessions.Client, id, path string, data []byte) (*sessions.Upload, error) {
			return &sessions.Upload{InterpreterID: "7f", Path: path, File: "/data/7f/" + path, Size: len(data)}, owns(id)
		},
		wait: func(_ context.Context, _ sessions.Client, id string, wait time.Duration, _ func(sessions.Progress)) (*sessions.Result, error) {
			return example(func(r *sessions.Result) { r.Stdout = "waited " + wait.String() + "\n" }), owns(id)
		},
	}
}

func owns(name string) error {
	if name == "" || name == "7f" {
		return nil
	}
	return sessions.Errorf(sessions.CodeNotFound, "Interpreter %s not found", name)
}

// TestEveryOperation: each that the schema offers is done, and none fails for
// want of a case.
func TestEveryOperation(t *testing.T) {
	want := map[string]string{
		"create": "Created interpreter 9b (Python 3.11.7, working directory /data/9b). Pass it as interpreter_id to run_python_code.",
		"list": `4 interpreters:
7f (default): running, 1 run, idle 1 min, Python 3.11.7, session variables "db", "key"
[note] the start-up code (--init-code) failed:
NameError: np
9b: busy with run 12, the last 3 runs failed, 2 calls waiting, Python 3.11.7, 73 MB, not recoverable: 2 Python threads are running (Thread-1, Thread-2)
c4: running, 1 run, idle 1 min, branch of 7f, Python 3.11.7, 96 MB
d1: its process has ended; the next run brings its variables back, 1 run, 1 answer not fetched`,
		"delete":    "Deleted interpreter 7f; its variables are gone.",
		"restart":   "Restarted interpreter 7f (Python 3.11.7, working directory /data/7f). It has no variables now.",
		"interrupt": "Stopped execution 3 after 2s; its variables are kept.\n[note] execution 2 crashed",
		"branch": `Branched interpreter c4 from 7f, with its variables (Python 3.11.7, working directory /data/c4). Pass it as interpreter_id to run_python_code; the two go on independently.
[note] 1 child process stays with 7f`,
		"undo": "Execution 3 is undone.\n[note] a note",
		"variables": `4 variables:
df     DataFrame (150, 4)  4.8 KiB  <DataFrame, 150 rows>
names  list len 150                 ['a', …]
model  Model
x      int                          3
functions: area(r), async load(path, sep=',')
classes: Model
imports: Path, np (numpy)
[note] execution 2 crashed`,
		"set_variables": `Session variables of interpreter 7f: set "key", removed "old". Plugins find "db", "key" from the next run on.`,
		"upload":        "Uploaded data/a.csv (3 B) in the working directory of interpreter 7f: /data/7f/data/a.csv",
		"wait":          "waited 0s\n[7f3a9c]",
		"answer":        "waited 0s\n[7f3a9c]",
	}
	for era, options := range eras {
		c := connect(t, "tester", working(), Options{}, options...)
		for _, operation := range advertisedOperations(t) {
			t.Run(era+" "+operation, func(t *testing.T) {
				answer := call(t, c, "manage_interpreters", `{"operation":"`+operation+`","interpreter_id":"7f","path":"data/a.csv","content":"x,y","text":"y","variables":{"key":"v","old":null}}`)
				if answer.IsError {
					t.Fatal(text(t, answer))
				}
				same(t, want[operation], text(t, answer))
				record := answer.StructuredContent.(map[string]any)
				expect(t, record["success"] == true, "record %v", record)
			})
		}
	}
}

func advertisedOperations(t *testing.T) []string {
	t.Helper()
	var schema struct {
		Properties struct {
			Operation struct{ Enum []string }
		}
	}
	must(t, json.Unmarshal(newToolbox(nil, nil, Options{}).manArgs.Schema(), &schema))
	return schema.Properties.Operation.Enum
}

// TestRecordsOfOperations have the fields that programs know from before.
func TestRecordsOfOperations(t *testing.T) {
	c := connect(t, "tester", working(), Options{})
	record := func(arguments string) map[string]any {
		return call(t, c, "manage_interpreters", arguments).StructuredContent.(map[string]any)
	}
	r := record(`{"operation":"create"}`)
	expect(t, r["interpreter_id"] == "9b", "create: %v", r)
	interpreters := record(`{"operation":"list"}`)["interpreters"].([]any)
	first := interpreters[0].(map[string]any)
	expect(t, len(interpreters) == 4 && first["id"] == "7f" && first["status"] == "running", "list: %v", interpreters)
	r = record(`{"operation":"interrupt"}`)
	expect(t, r["elapsed"] == 2. && r["interruption"].(map[string]any)["stopped"] == true, "interrupt: %v", r)
	last := interpreters[2].(map[string]any)
	expect(t, last["parent"] == "7f" && last["recoverable"] == true && last["private"] == 12.*(1<<20) && last["shared"] == 84.*(1<<20), "list: %v", last)
	r = record(`{"operation":"branch"}`)
	expect(t, r["interpreter_id"] == "c4" && r["interpreter"].(map[string]any)["parent"] == "7f", "branch: %v", r)
	r = record(`{"operation":"undo"}`)
	expect(t, r["interpreter_id"] == "7f" && r["undone"].(map[string]any)["execution"] == 3., "undo: %v", r)
	r = record(`{"operation":"variables"}`)
	expect(t, len(r["variables"].([]any)) == 4 && len(r["functions"].([]any)) == 2, "variables: %v", r)
}

func TestOperationsOnAnothersInterpreter(t *testing.T) {
	c := connect(t, "tester", working(), Options{})
	for _, operation := range []string{"delete", "restart", "interrupt", "variables", "wait", "branch", "undo", `answer", "text": "x`} {
		answer := call(t, c, "manage_interpreters", `{"operation":"`+operation+`","interpreter_id":"theirs"}`)
		got := text(t, answer)
		expect(t, answer.IsError && got == "Interpreter theirs not found", "%s: isError %v, %q", operation, answer.IsError, got)
	}
}

func TestTheDescriptionSaysHowFarUndoGoesBack(t *testing.T) {
	for history, want := range map[int]string{
		0: "undo: go back to the variables before the last run; turned off here (--history 0). Files",
		1: "undo: go back to the variables before the last run; one run back, not more. Files",
		3: "undo: go back to the variables before the last run; up to 3 runs back, one with each call. Files",
	} {
		b := newToolbox(nil, nil, Options{History: history})
		got := b.manageInterpretersTool().Tool.Description
		expect(t, strings.Contains(got, want), "%+v", got)
	}
}

func TestNothingToList(t *testing.T) {
	r := listed(nil, "", 1000)
	encoded, err := json.Marshal(r.record)
	expect(t, err == nil && string(encoded) == `{"interpreters":[]}` && strings.HasPrefix(r.text, "You have no interpreter yet"), "%s %s %v", r.text, encoded, err)
	r = listed(nil, "your default interpreter 7f was ended", 1000)
	expect(t, r.text == "You have no interpreter: your default interpreter 7f was ended." && r.record["ended"] != nil, "%+v", r.text)
	r = listed([]sessions.Listing{listing("9b")}, "your default interpreter 7f was ended", 1000)
	expect(t, strings.HasSuffix(r.text, ", Python 3.11.7\nYour default interpreter 7f was ended."), "%+v", r.text)
}

// TestListTellsOfTheSandbox: once for all.
func TestListTellsOfTheSandbox(t *testing.T) {
	one, ended := listing("9b"), listing("8a")
	one.Sandbox = &sessions.Wall{Mode: "standard", Layers: []string{"landlock", "seccomp"}, Open: []string{"secret detail"}}
	for hosts, want := range map[string]string{"": "no network", "all": "with network", "pypi.org": "network to pypi.org only"} {
		if hosts != "" {
			one.Sandbox.Network = []string{hosts}
		}
		text := listed([]sessions.Listing{ended, one, one}, "", 5000).text
		expect(t, strings.HasSuffix(text, "\nAll are in the sandbox: standard (landlock, seccomp), "+want+".") && strings.Count(text, "landlock") == 1 && !strings.Contains(text, "detail"),
			"%+v", text)
		one.Sandbox.Network = nil
	}
	text := listed([]sessions.Listing{ended}, "", 5000).text
	expect(t, !strings.Contains(text, "sandbox"), "%+v", text)
}

func TestUploadArguments(t *testing.T) {
	t.Parallel()
	c := connect(t, "tester", working(), Options{MaxUpload: 10})
	for _, test := range []struct {
		arguments, want string
		refused         bool
	}{
		{`"path":"a","content":""`, "Uploaded a (0 B)", false},
		{`"path":"a","content":"0123456789"`, "Uploaded a (10 B)", false},
		{`"path":"a","content_base64":"AP8="`, "Uploaded a (2 B)", false},
		{`"path":"a","content_base64":"` + base64.StdEncoding.EncodeToString(make([]byte, 10)) + `"`, "Uploaded a (10 B)", false},
		{`"path":"a"`, "content_base64 (other bytes), one of the two", true},
		{`"path":"a","content":"","content_base64":""`, "Uploaded a (0 B)", false},
		{`"path":"a","content":"abc","content_base64":""`, "Uploaded a (3 B)", false},
		{`"path":"a","content":"","content_base64":"AP8="`, "Uploaded a (2 B)", false},
		{`"path":"a","content":null,"content_base64":null`, "one of the two", true},
		{`"path":"a","content":"abc","content_base64":"AP8="`, "one of the two", true},
		{`"content":"x"`, "path is required for upload operation", true},
		{`"path":"a","content":"01234567890"`, "the file has 11 bytes, and at most 10 are taken at once (--max-upload)", true},
		{`"path":"a","content_base64":"` + base64.StdEncoding.EncodeToString(make([]byte, 11)) + `"`, "at most 10", true},
		{`"path":"a","content_base64":"` + strings.Repeat("A", 1<<20) + `"`, "at most 10", true},
		{`"path":"a","content_base64":"not base64"`, `"content_base64" is not base64`, true},
		{`"path":"a","content":"x","interpreter_id":"theirs"`, "Interpreter theirs not found", true},
		{`"path":"a","contents":"x"`, "content", true},
	} {
		answer := call(t, c, "manage_interpreters", fmt.Sprintf(`{"operation":"upload",%s}`, test.arguments))
		got := text(t, answer)
		expect(t, answer.IsError == test.refused && strings.Contains(got, test.want), "%.80s: isError %v, %s", test.arguments, answer.IsError, got)
	}
	record := call(t, c, "manage_interpreters", `{"operation":"upload","path":"é/a b","content":"x"}`).StructuredContent.(map[string]any)
	expect(t, record["uri"] == "understudy://interpreters/7f/files/%C3%A9/a%20b", "%v", record)
}
