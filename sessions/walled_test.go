package sessions

import (
	"encoding/json"
	"strings"
	"testing"
)

// raising is a worker behind a wall whose code ends with an OSError-like exception: its
// class, its arguments and the last line of its traceback, separated by |.
func raising(wall *Wall) *fakeStarter {
	run := func(_ *fakeWorker, r Request, _ Sink) (Outcome, error) {
		parts := strings.Split(r.Code, "|")
		var args []json.RawMessage
		if err := json.Unmarshal([]byte(parts[1]), &args); err != nil {
			return Outcome{}, err
		}
		return Outcome{Exception: &Exception{Type: parts[0], Info: ExceptionInfo{Args: args}, Traceback: "Traceback…\n" + parts[2] + "\n"}}, nil
	}
	return &fakeStarter{start: func(Spec) (*fakeWorker, error) { return &fakeWorker{run: run, wall: wall}, nil }}
}

// TestTheWallExplainsItself: an agent is told when the sandbox is the likely cause, and
// only then.
func TestTheWallExplainsItself(t *testing.T) {
	const noNet, files, hosts = "the sandbox has no network", "the sandbox may be why", "to these hosts only: pypi.org;"
	closed, some, open := &Wall{Mode: "standard"}, &Wall{Mode: "standard", Network: []string{"pypi.org"}}, &Wall{Mode: "standard", Network: []string{NetworkAll}}
	for name, test := range map[string]struct {
		wall *Wall
		code string
		want string // "": no note
	}{
		"a name":            {closed, `gaierror|[-3, "Temporary failure in name resolution"]|socket.gaierror: [Errno -3] Temporary failure in name resolution`, noNet},
		"urllib":            {closed, `URLError|["…"]|urllib.error.URLError: <urlopen error [Errno -3]>`, noNet},
		"an address":        {closed, `OSError|[101, "Network is unreachable"]|OSError: [Errno 101] Network is unreachable`, noNet},
		"another host":      {some, `OSError|["Tunnel connection failed: 403 Forbidden"]|OSError: Tunnel connection failed: 403 Forbidden`, hosts},
		"an open network":   {open, `gaierror|[-3, "…"]|socket.gaierror: [Errno -3] …`, ""},
		"no wall":           {nil, `gaierror|[-3, "…"]|socket.gaierror: [Errno -3] …`, ""},
		"a write":           {closed, `OSError|[30, "Read-only file system"]|OSError: [Errno 30] Read-only file system: '/etc/x'`, files},
		"a file denied":     {closed, `PermissionError|[13, "Permission denied"]|PermissionError: [Errno 13] Permission denied: '/etc/shadow'`, files},
		"a file hidden":     {closed, `FileNotFoundError|[2, "No such file or directory"]|FileNotFoundError: [Errno 2] No such file or directory: '/home/me/data.csv'`, files},
		"a file of its own": {closed, `FileNotFoundError|[2, "No such file or directory"]|FileNotFoundError: [Errno 2] No such file or directory: 'data.csv'`, ""},
		"one in /tmp":       {closed, `FileNotFoundError|[2, "No such file or directory"]|FileNotFoundError: [Errno 2] No such file or directory: '/tmp/a'`, ""},
		"one of the system": {closed, `FileNotFoundError|[2, "No such file or directory"]|FileNotFoundError: [Errno 2] No such file or directory: '/usr/bin/nothing'`, ""},
		"a signal":          {closed, `PermissionError|[1, "Operation not permitted"]|PermissionError: [Errno 1] Operation not permitted`, ""},
		"another error":     {closed, `ValueError|["a"]|ValueError: [Errno 2] a: '/home/x'`, ""},
		"no arguments":      {closed, `OSError|[]|OSError`, ""},
	} {
		t.Run(name, func(t *testing.T) {
			m := newTestManager(t, raising(test.wall), nil)
			r := run(t, m, test.code)
			notes := strings.Join(r.Notes, "\n")
			if test.want == "" && strings.Contains(notes, "sandbox") || !strings.Contains(notes, test.want) {
				t.Errorf("notes %q, want %q", r.Notes, test.want)
			}
		})
	}
}

func TestListingTellsOfTheWall(t *testing.T) {
	wall := &Wall{Mode: "strict", Layers: []string{"landlock"}, Open: []string{"signals"}}
	m := newTestManager(t, raising(wall), nil)
	run(t, m, `ValueError|[]|ValueError`)
	all, err := m.List(t.Context(), me)
	if err != nil || len(all) != 1 || all[0].Sandbox == nil || all[0].Sandbox.Mode != "strict" {
		t.Errorf("%+v %v", all, err)
	}
}
