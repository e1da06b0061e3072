package main

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// assign is the change that gives x a value.
func assign(n int64) func(*state) { return set("x", number(n)) }

// x is what a variable must hold.
func x(m model, name string) any { return m.now.variables[name].want }

func TestCrashTakesNothingBackButItsCall(t *testing.T) {
	m := newModel(true, 1)
	m.finished(assign(1))
	m.finished(assign(2))
	for range 20 {
		if !m.crashed() || x(m, "x") != int64(2) {
			t.Fatalf("x is %v", x(m, "x"))
		}
	}
	if why := m.undoable(); why != "" {
		t.Fatalf("undo after crashes would be refused: %s", why)
	}
	m.undo()
	if x(m, "x") != int64(1) || m.undoable() == "" {
		t.Errorf("x is %v, and undo has %q against a second time", x(m, "x"), m.undoable())
	}
}

func TestHistoryIsAsLongAsItMayBe(t *testing.T) {
	m := newModel(true, 3)
	for i := range 5 {
		m.finished(assign(int64(i)))
	}
	var seen []any
	for m.undoable() == "" {
		m.undo()
		seen = append(seen, x(m, "x"))
	}
	if diff := cmp.Diff([]any{int64(3), int64(2), int64(1)}, seen); diff != "" {
		t.Error(diff)
	}
}

func TestThreadsMakeStatesThatNothingBringsBack(t *testing.T) {
	m := newModel(true, 2)
	m.finished(assign(1))
	m.finished(set(threadName, liveThread))
	if m.recoverable() {
		t.Fatal("a state with a thread is recoverable")
	}
	m.finished(set(threadName, endedThread))
	if !m.recoverable() || m.undoable() != "thread" {
		t.Errorf("recoverable is %t, undo has %q against it", m.recoverable(), m.undoable())
	}

	m.finished(set(threadName, liveThread))
	if m.crashed() || x(m, threadName) != false || m.undoable() != "thread" || !m.noop {
		t.Errorf("after a crash with a thread there is %v", m.now.variables)
	}
	m.finished(set(threadName, liveThread))
	m.finished(nil)
	m.finished(nil)
	if m.crashed() || len(m.now.variables) > 0 || m.undoable() == "" || m.noop {
		t.Errorf("after a crash with a thread in all states there is %v", m.now.variables)
	}
	if !m.crashed() {
		t.Error("a fresh state is not the same after a crash")
	}
}

func TestSpawnedInterpretersLoseAll(t *testing.T) {
	m := newModel(false, 2)
	m.finished(assign(1))
	if m.crashed() || x(m, "x") != nil || m.undoable() == "" {
		t.Errorf("x is %v", x(m, "x"))
	}
}

func TestChildrenDieWithTheProcessThatStartedThem(t *testing.T) {
	m := newModel(true, 1)
	m.finished(set(childName, runningChild))
	m.finished(nil)
	b := m.branch()
	m.crashed()
	for name, c := range map[string]struct {
		m    model
		want int
	}{"crashed": {m, killedWithParent}, "branch": {b, leftWithOriginal}} {
		if code := x(c.m, childName); code != c.want {
			t.Errorf("%s: the child's return code is %v", name, code)
		}
	}
}

func TestBranchIsApart(t *testing.T) {
	m := newModel(true, 1)
	m.finished(assign(1))
	m.files["f_0"] = "text"
	b := m.branch()
	b.finished(assign(2))
	if x(m, "x") != int64(1) || x(b, "x") != int64(2) || len(m.files) != 1 || len(b.files) != 0 {
		t.Errorf("the original has %v, %v; the branch %v, %v", x(m, "x"), m.files, x(b, "x"), b.files)
	}
	fresh := m.branch()
	if fresh.undoable() == "" {
		t.Error("a branch in which nothing ran has something to undo")
	}
}

func TestKilledUnderstudiesCannotBeWoken(t *testing.T) {
	m := newModel(true, 3)
	m.finished(assign(1)) // before it: a fresh interpreter, which needs no process
	m.finished(assign(2))
	m.crashed() // the process with x = 1 is nobody's child now
	m.finished(assign(3))
	m.killUnderstudies()
	if why := m.undoable(); why != "ended" {
		t.Fatalf("undo has %q against it", why)
	}
	m.kept = m.kept[:2]
	if why := m.undoable(); why != "" {
		t.Errorf("undo has %q against it", why)
	}
}

// TestABurstBringsBackTheStateThatTheAnswerNames, and loses all only where nothing has a copy.
func TestABurstBringsBackTheStateThatTheAnswerNames(t *testing.T) {
	yes, no := true, false
	for name, test := range map[string]struct {
		told     record
		restored bool
		x        any
		fault    bool
	}{
		"the present": {told: record{StateRestored: &yes}, restored: true, x: int64(3)},
		"an older":    {told: record{StateRestored: &no, StateBefore: 2}, x: int64(1)},
		"no such":     {told: record{StateRestored: &no, StateBefore: 7}, fault: true},
		"nothing":     {told: record{StateRestored: &no}, fault: true},
	} {
		m := newModel(true, 1)
		m.burst = true
		for i := range int64(3) {
			m.executions++
			m.finished(assign(i + 1))
		}
		restored, err := m.dies(test.told, false)
		if (err != nil) != test.fault || err == nil && (restored != test.restored || x(m, "x") != test.x) {
			t.Errorf("%s: restored %t, x is %v, %v", name, restored, x(m, "x"), err)
		}
	}
}
