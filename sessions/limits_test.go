package sessions

import (
	"context"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

func ids(all []Listing) []string {
	var names []string
	for _, l := range all {
		names = append(names, l.ID)
	}
	return names
}

func TestALimitForEachClient(t *testing.T) {
	m := surviving(t, remembers(), func(o *Options) { o.MaxPerClient = 2 })
	mustCreate(t, m)
	run(t, m, "a")
	_, err := m.Create(t.Context(), me, CreateRequest{})
	wantCode(t, err, CodeLimit, "2 interpreters", "--max-sessions-per-client", "delete")
	_, err = m.Branch(t.Context(), me, "")
	wantCode(t, err, CodeLimit, "--max-sessions-per-client")
	if _, err := m.Create(t.Context(), other, CreateRequest{}); err != nil {
		t.Error(err)
	}
}

func TestALimitThatOthersReached(t *testing.T) {
	m := surviving(t, remembers(), func(o *Options) { o.MaxSessions, o.EndOldest = 1, true })
	theirs, err := m.Create(t.Context(), other, CreateRequest{})
	if err != nil {
		t.Fatal(err)
	}
	_, err = m.Create(t.Context(), me, CreateRequest{})
	wantCode(t, err, CodeLimit, "limit of 1", "other clients", "later")
	if all, _ := m.List(t.Context(), other); !slices.Equal(ids(all), []string{theirs.ID}) {
		t.Errorf("%+v", all)
	}
}

func TestTheOldestIdleSessionMakesRoom(t *testing.T) {
	for name, limit := range map[string]func(*Options){
		"in all":          func(o *Options) { o.MaxSessions = 3 },
		"for each client": func(o *Options) { o.MaxPerClient = 3 },
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				f := remembers()
				m := surviving(t, f, func(o *Options) { limit(o); o.EndOldest = true })
				running, oldest, recent := mustCreate(t, m), mustCreate(t, m), mustCreate(t, m)
				mustRun(t, m, RunRequest{Code: "hang", InterpreterID: running.ID, Wait: time.Second})
				runIn(t, m, oldest.ID, "a")
				time.Sleep(time.Second)
				runIn(t, m, recent.ID, "b")
				next := mustCreate(t, m)
				if got := ids(list(t, m)); len(got) != 3 || slices.Contains(got, oldest.ID) || !slices.Contains(got, next.ID) {
					t.Errorf("%q", got)
				}
				if !f.started()[1].closed {
					t.Error("the worker of the one that was ended lives")
				}
				_, err := m.Run(t.Context(), me, RunRequest{Code: "x", InterpreterID: oldest.ID})
				wantCode(t, err, CodeNotFound, oldest.ID, "to make room for another one (--when-full end-oldest)", "create")
				_, err = m.Run(t.Context(), other, RunRequest{Code: "x", InterpreterID: oldest.ID})
				wantCode(t, err, CodeNotFound, "not found")
			})
		})
	}
}

func TestNoSessionInUseMakesRoom(t *testing.T) {
	bubble(t, func(t *testing.T) {
		m := surviving(t, remembers(), func(o *Options) { o.MaxSessions, o.EndOldest = 1, true })
		mustRun(t, m, RunRequest{Code: "hang", Wait: time.Second})
		_, err := m.Create(t.Context(), me, CreateRequest{})
		wantCode(t, err, CodeLimit, "limit of 1")
		if l := list(t, m); len(l) != 1 || l[0].Status != "busy" {
			t.Errorf("%+v", l)
		}
	})
}

// TestASessionWhoseCopyIsBeingMadeIsIdle: its call is over.
func TestASessionWhoseCopyIsBeingMadeIsIdle(t *testing.T) {
	bubble(t, func(t *testing.T) {
		f := remembers()
		f.forking = func(ctx context.Context, _ *fakeWorker, _ Purpose) error { <-ctx.Done(); return ctx.Err() }
		m := surviving(t, f, func(o *Options) { o.MaxSessions, o.EndOldest = 1, true })
		run(t, m, "a")
		began := time.Now()
		mustCreate(t, m)
		if took := time.Since(began); took != 0 {
			t.Errorf("took %s", took)
		}
	})
}

func TestAnIdleEndIsTold(t *testing.T) {
	bubble(t, func(t *testing.T) {
		m := surviving(t, remembers(), func(o *Options) { o.IdleTTL = 30 * time.Minute })
		id := run(t, m, "a").InterpreterID
		time.Sleep(time.Hour)
		for _, use := range []func() error{
			func() error {
				_, err := m.Run(t.Context(), me, RunRequest{Code: "b", InterpreterID: id})
				return err
			},
			func() error { return m.Delete(t.Context(), me, id) },
			func() error { _, err := m.Undo(t.Context(), me, id); return err },
		} {
			wantCode(t, use(), CodeNotFound, "Interpreter "+id+" was ended after being idle for 30 minutes (--idle-ttl); its variables are gone")
		}
		farewell := "your default interpreter " + id + " was ended after being idle for 30 minutes (--idle-ttl); its variables are gone. run_python_code makes a new one"
		if _, err := m.Undo(t.Context(), me, ""); CodeOf(err) != CodeNotFound || err.Error() != farewell {
			t.Error(err)
		}
		if got := m.Farewell(me); got != farewell || m.Farewell("another") != "" {
			t.Errorf("%q", got)
		}
		r := run(t, m, "b")
		if got := m.Farewell(me); got != "" {
			t.Errorf("%q", got)
		}
		if r.Stdout != "b" || !strings.Contains(notes(r), "your earlier default interpreter "+id+" was ended after being idle for 30 minutes (--idle-ttl); this is a new one, without its variables") {
			t.Errorf("%+v", r)
		}
		if r := run(t, m, "c"); len(r.Notes) != 0 {
			t.Errorf("told twice: %q", r.Notes)
		}
	})
}

func TestTheLastEndingsAreRemembered(t *testing.T) {
	var e endings
	for i := range keptEndings + 10 {
		e.add(ending{id: fmt.Sprint(i), client: me, why: "because", isDefault: i%2 == 0})
	}
	for id, want := range map[string]string{"9": "", "10": "because", "265": "because", "266": ""} {
		if got := e.why(me, id); got != want {
			t.Errorf("%s: %q", id, got)
		}
	}
	if e.why(other, "100") != "" {
		t.Error("another client learns of it")
	}
	if _, ok := e.forgetDefault(defaultKey{client: me}); !ok || len(e) != keptEndings {
		t.Errorf("%d kept", len(e))
	}
	if _, ok := e.forgetDefault(defaultKey{client: me}); ok {
		t.Error("told twice")
	}
}

// TestAnEndingFindsNobodyInTheQueue races the reaper with calls: each call runs
// or is told that its session was ended, and no execution is cut short.
func TestAnEndingFindsNobodyInTheQueue(t *testing.T) {
	m := surviving(t, remembers(), func(o *Options) { o.MaxSessions, o.EndOldest, o.Queue = 2, true, 20 })
	done := make(chan error, 40)
	for i := range cap(done) {
		go func() {
			if i%2 == 0 {
				_, err := m.Create(t.Context(), me, CreateRequest{})
				if CodeOf(err) == CodeNotFound || CodeOf(err) == CodeLimit {
					err = nil
				}
				done <- err
				return
			}
			r, err := m.Run(t.Context(), me, RunRequest{Code: "a"})
			if CodeOf(err) == CodeLimit {
				err = nil
			} else if err == nil && r.Status != StatusOK {
				err = fmt.Errorf("status %s because %s", r.Status, r.RestartReason)
			}
			done <- err
		}()
	}
	for range cap(done) {
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
}

// TestManyIdleSessionsCostNoGoroutines: what rests needs nobody to watch it.
func TestManyIdleSessionsCostNoGoroutines(t *testing.T) {
	const many = 300
	f := remembers()
	m := surviving(t, f, func(o *Options) { o.MaxSessions, o.IdleTTL = many, time.Hour })
	run(t, m, "a")
	list(t, m)
	before := runtime.NumGoroutine()
	for range many - 1 {
		runIn(t, m, mustCreate(t, m).ID, "a")
	}
	if l := list(t, m); len(l) != many {
		t.Fatalf("%d sessions", len(l))
	}
	waitFor(t, func() bool { return runtime.NumGoroutine() <= before+10 }) // they are coming to their end
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, s := range m.sessions {
		if s.current != nil || len(s.uncollected) != 0 {
			t.Errorf("%s keeps an execution", s.id)
		}
	}
}

// TestAListingMeasuresNoLongerThanItMay has each process take its time.
func TestAListingMeasuresNoLongerThanItMay(t *testing.T) {
	bubble(t, func(t *testing.T) {
		f := remembers()
		m := surviving(t, f, func(o *Options) { o.MaxSessions = 50 })
		for range 50 {
			runIn(t, m, mustCreate(t, m).ID, "a")
		}
		list(t, m)
		f.measuring = func() { time.Sleep(7 * time.Millisecond) }
		began := time.Now()
		all := list(t, m)
		if took := time.Since(began); took != 301*time.Millisecond { // the last begins within listPatience
			t.Errorf("took %s", took)
		}
		if first, last := all[0], all[49]; first.Private == 0 || last.Private != 0 || last.Memory != first.Memory {
			t.Errorf("first %+v\nlast %+v", first, last)
		}
	})
}

// TestAListingWaitsForNoCall lists while a call runs and another waits.
func TestAListingWaitsForNoCall(t *testing.T) {
	bubble(t, func(t *testing.T) {
		m := surviving(t, remembers(), nil)
		run(t, m, "a")
		mustRun(t, m, RunRequest{Code: "hang", Wait: time.Second})
		go func() { _, _ = m.Run(t.Context(), me, RunRequest{Code: "b", Wait: time.Second}) }()
		synctest.Wait()
		began := time.Now()
		if l := list(t, m)[0]; l.Status != "busy" || l.Waiting != 1 || !l.Recoverable {
			t.Errorf("%+v", l)
		}
		if took := time.Since(began); took != 0 {
			t.Errorf("took %s", took)
		}
	})
}
