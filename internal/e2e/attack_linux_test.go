package e2e

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// attacks is the folder with what is tried.
const attacks = root + "testdata/attacks"

// attackGroups are the files of testdata/attacks with attempts, in their order.
var attackGroups = []string{"files", "processes", "privilege", "kernel", "shared", "network"}

// wallsToAttack are those that there can be on one machine: what the program is started
// by, and its mode.
var wallsToAttack = []struct{ name, program, mode string }{
	{"standard", "understudy", "standard"},
	{"strict", "understudy", "strict"},
	// Where the outer layers are missing the inner ones show that they hold.
	{"contained", "contained", "standard"},
}

// TestAttacks has a session try to get through the wall, behind every wall that there
// can be here: at what another client's session, the server, its user and the machine
// have. Each attempt says what it tries and which layers are to stop it; it is skipped
// only where it got through and none of these is there.
func TestAttacks(t *testing.T) {
	users := accounts(t)
	for _, user := range users {
		for _, wall := range wallsToAttack {
			t.Run(user.name+"/"+wall.name, func(t *testing.T) {
				t.Parallel()
				user := user
				if wall.program == "contained" { // which can't bring in what others may not reach
					user.python = users[len(users)-1].python
				}
				a := startAttacked(t, user, wall.program, "--sandbox", wall.mode, "--history", "2")
				for _, group := range attackGroups {
					a.attack(t, group, a.wall)
				}
				t.Run("other ways", a.otherWays)
				t.Run("daemon", a.daemon)
				t.Run("start", a.whileItStarts)
				t.Run("restart", a.restartThroughLinks)
				t.Run("server", a.misleadTheServer)
			})
		}
	}
}

// TestAttacksWithoutAWall is the control: as root and without a wall the attempts get
// through. One that doesn't would be stopped by its own mistake elsewhere, too.
func TestAttacksWithoutAWall(t *testing.T) {
	user := accounts(t)[0]
	if user.name != "root" {
		t.Skip("only root may do what the wall is there to stop")
	}
	t.Parallel()
	a := startAttacked(t, user, "understudy", withoutWall...)
	for _, group := range attackGroups {
		a.attack(t, group, nil)
	}
}

// withoutWall are the flags of a server that confines nothing.
var withoutWall = []string{"--sandbox", "off"}

// verdict is what attempting.py says of an attempt.
type verdict struct {
	Name    string `json:"name"`    // what it tries
	By      string `json:"by"`      // layers that are to stop it
	Verdict string `json:"verdict"` // open, stopped, beside or broken; "" as it begins
	Why     string `json:"why"`
}

// attack makes the attempts of one file, and judges them as those behind a wall of
// these layers; nil: there is none.
func (a *attacked) attack(t *testing.T, group string, wall layers) {
	t.Helper()
	t.Run(group, func(t *testing.T) {
		for _, v := range a.make(t, group) {
			t.Run(v.Name, func(t *testing.T) { v.judge(t, wall) })
		}
	})
}

// make has the attacker make the attempts of a file. Where one ends the process the
// next call goes on with those after it.
func (a *attacked) make(t *testing.T, group string) (made []verdict) {
	t.Helper()
	source := readFile(t, attacks, group+".py")
	for range 20 {
		skip := []string{}
		for _, v := range made {
			skip = append(skip, v.Name)
		}
		words, err := json.Marshal(skip)
		must(t, err)
		code := source + "\n\nimport attempting\nattempting.run(" + string(words)
		if a.wall == nil {
			code += ", without_wall=True"
		}
		record, text := run(t, a.attacker, code+")\n", "timeout", 100)
		found := a.verdicts(t, a.workdir)
		if len(found) > 0 && found[len(found)-1].Verdict == "" { // the one that it began last
			last := &found[len(found)-1]
			last.Verdict, last.Why = "stopped", "the session was ended: "+text
		}
		made = append(made, found...)
		if record["status"] == "ok" {
			return made
		}
		insist(t, record["status"] == "crashed" && len(found) != 0, "%s: %s", group, text)
	}
	t.Fatalf("%s: the session was ended again and again", group)
	return nil
}

// verdicts takes what an attacker has written down in its working directory. What began
// and ended is there once.
func (a *attacked) verdicts(t *testing.T, workdir string) (found []verdict) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(workdir, "verdicts.jsonl"))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	must(t, err)
	for line := range strings.Lines(string(text)) {
		var v verdict
		if err := json.Unmarshal([]byte(line), &v); err != nil {
			t.Fatalf("%v in %s", err, line)
		}
		if n := len(found); n > 0 && found[n-1].Name == v.Name {
			found[n-1] = v
		} else {
			found = append(found, v)
		}
	}
	must(t, os.Remove(filepath.Join(workdir, "verdicts.jsonl")))
	return found
}

// judge says whether the attempt went as it must behind a wall of these layers.
func (v verdict) judge(t *testing.T, wall layers) {
	t.Helper()
	switch {
	case v.Verdict == "broken":
		t.Errorf("it failed by itself: %s", v.Why)
	case v.Verdict == "beside":
		t.Skipf("it can't be tried: %s", v.Why)
	case wall == nil && v.Verdict == "open":
	case wall == nil && (strings.HasSuffix(v.Why, "ENOSYS") || strings.HasSuffix(v.Why, "EAFNOSUPPORT")):
		t.Skipf("this kernel can't: %s", v.Why)
	case wall == nil:
		t.Errorf("it is stopped without a wall, too, and proves nothing: %s", v.Why)
	case v.Verdict == "stopped":
		t.Logf("stopped (%s): %s", v.By, v.Why)
	case wall.have(v.By):
		t.Errorf("OPEN: %s. To be stopped by %s, of %v", v.Why, v.By, wall)
	default:
		t.Skipf("OPEN HERE: %s. It takes %s to stop it, and there are %v", v.Why, v.By, wall)
	}
}

// layers are those of a wall, with what they can do here beside their names:
// "landlock6" is Landlock of ABI 6 or newer, "own_uid" a user for each session,
// "tag" that processes are known by a limit which they can't change.
type layers []string

// have reports whether one of the alternatives of an attempt is there.
func (l layers) have(by string) bool {
	for alternative := range strings.SplitSeq(by, "|") {
		whole := true
		for name := range strings.SplitSeq(alternative, "+") {
			name = strings.TrimSpace(name)
			whole = whole && (name == "always" || slices.Contains(l, name))
		}
		if whole {
			return true
		}
	}
	return false
}
