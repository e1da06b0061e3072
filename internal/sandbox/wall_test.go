package sandbox

import (
	"errors"
	"strings"
	"testing"

	"understudy/internal/check"
)

var must, expect, insist = check.Must, check.Expect, check.Insist

// generous is a host that allows everything, to root.
var generous = Host{Landlock: 7}

func TestNoWall(t *testing.T) {
	w, err := New(Settings{Mode: Off}, generous)
	insist(t, w == nil && err == nil, "got %v, %v", w, err)
	expect(t, w.Mode() == Off && w.Layers() == nil && len(w.Open()) == 1 && !w.Networked(), "a nil wall does not say that it is none")
	w.Release("nobody")
}

func TestFloor(t *testing.T) {
	weak := nothing("it is a toy")
	weak.User = 1000
	for name, test := range map[string]struct {
		settings Settings
		host     Host
		missing  string // in the error; "" for none
	}{
		"no floor":                 {Settings{Mode: Standard}, weak, ""},
		"above":                    {Settings{Mode: Standard, Floor: []Layer{Landlock, Seccomp}}, generous, ""},
		"below":                    {Settings{Mode: Standard, Floor: []Layer{Seccomp}}, weak, "seccomp (it is a toy)"},
		"off":                      {Settings{Mode: Off, Floor: []Layer{Seccomp}}, generous, "--sandbox is off"},
		"strict needs namespaces":  {Settings{Mode: Strict}, Host{Landlock: 7, NoNamespaces: "refused"}, "namespaces (refused)"},
		"nobody may be root":       {Settings{Mode: Standard}, Host{Landlock: 7, NoUsers: "one user"}, "one user"},
		"strict where all is":      {Settings{Mode: Strict}, generous, ""},
		"every machine has limits": {Settings{Mode: Standard, Floor: []Layer{Rlimits}}, weak, ""},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := New(test.settings, test.host)
			switch {
			case test.missing == "" && err != nil:
				t.Error(err)
			case test.missing != "" && (!errors.Is(err, ErrBelowFloor) || !strings.Contains(err.Error(), test.missing)):
				t.Errorf("got %v", err)
			}
		})
	}
}

// What is open must be said, layer by layer.
func TestOpen(t *testing.T) {
	for name, test := range map[string]struct {
		settings Settings
		host     Host
		open     []string // a part of each sentence
	}{
		"nothing":       {Settings{Mode: Standard}, generous, nil},
		"the network":   {Settings{Mode: Standard, Network: Network{All: true}}, generous, []string{"--allow-net all"}},
		"no namespaces": {Settings{Mode: Standard}, Host{Landlock: 7, NoNamespaces: "refused", NoProc: "refused"}, []string{"Unix sockets", "command lines"}},
		"one user": {
			Settings{Mode: Standard}, Host{Landlock: 4, User: 1000, NoNamespaces: "refused"},
			[]string{"signals", "how fast", "Unix sockets", "mode, owner and times", "command lines", "nothing of terminals"},
		},
		"hosts without a network": {
			Settings{Mode: Standard, Network: Network{Hosts: []string{"pypi.org"}}}, Host{Landlock: 7, NoNamespaces: "refused"},
			[]string{"Unix sockets", "no network at all"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			w, err := New(test.settings, test.host)
			must(t, err)
			open := w.Open()
			insist(t, len(open) == len(test.open), "got %q", open)
			for i, part := range test.open {
				if !strings.Contains(open[i], part) {
					t.Errorf("%q does not say %q", open[i], part)
				}
			}
		})
	}
}

// Code must not be able to change the Python that the server runs itself.
func TestWritablePython(t *testing.T) {
	contained := Host{Landlock: 7, User: 1000, NoNamespaces: "refused"}
	mounting := Host{Landlock: 7, User: 1000}
	for name, test := range map[string]struct {
		settings Settings
		host     Host
		refused  bool
	}{
		"beside it":                 {Settings{Write: []string{"/no/project"}, Python: []string{"/no/project.venv"}}, contained, false},
		"in it":                     {Settings{Write: []string{"/no/project"}, Python: []string{"/no/project/.venv"}}, contained, true},
		"in the working directory":  {Settings{Shared: "/no/project", Python: []string{"/no/project/.venv"}}, contained, true},
		"in it, mounted":            {Settings{Write: []string{"/no/project"}, Python: []string{"/no/project/.venv"}}, mounting, false},
		"it itself, as a module's":  {Settings{Write: []string{"/no/project"}, Python: []string{"/no/project"}}, mounting, true},
		"above it, as the system's": {Settings{Write: []string{"/no/lib/project"}, Python: []string{"/no"}}, contained, false},
	} {
		t.Run(name, func(t *testing.T) {
			test.settings.Mode = Standard
			_, err := New(test.settings, test.host)
			if refused := err != nil && strings.Contains(err.Error(), "--python"); refused != test.refused || err != nil && !refused {
				t.Errorf("got %v", err)
			}
		})
	}
}

func TestOwnRange(t *testing.T) {
	first, count := ownRange(firstUser, mostUsers)
	expect(t, first > firstUser && first%mostUsers == 0 && count == mostUsers && first+count <= 1<<31-1, "got %d, %d", first, count)
	if first, count := ownRange(1, 99); first != 2 || count != 98 {
		t.Errorf("in a container: got %d, %d", first, count)
	}
	if _, count := ownRange(0, 0); count != 0 {
		t.Errorf("of none: %d", count)
	}
}

func TestUserRange(t *testing.T) {
	for name, test := range map[string]struct {
		spans        []span
		first, count int
	}{
		"a machine":             {[]span{{0, 1<<32 - 1}}, firstUser, mostUsers},
		"a container":           {[]span{{0, 65536}}, lastInContainer - mostInContainer, mostInContainer},
		"a rootless container":  {[]span{{0, 1}, {1, 65536}}, lastInContainer - mostInContainer, mostInContainer},
		"a small one":           {[]span{{0, 100}}, 1, 99},
		"none but root":         {[]span{{0, 1}}, 0, 0},
		"nothing could be read": {nil, 0, 0},
	} {
		t.Run(name, func(t *testing.T) {
			if first, count := userRange(test.spans); first != test.first || count != test.count {
				t.Errorf("got %d, %d", first, count)
			}
		})
	}
}

func TestUsersAreNotShared(t *testing.T) {
	u := &users{first: 10, count: 2, taken: map[int]bool{}}
	one, err1 := u.take()
	two, err2 := u.take()
	insist(t, one != two && err1 == nil && err2 == nil, "got %d, %d, %v, %v", one, two, err1, err2)
	if _, err := u.take(); err == nil {
		t.Error("a third one was handed out")
	}
	u.give(one)
	if again, err := u.take(); again != one || err != nil {
		t.Errorf("got %d, %v", again, err)
	}
}
