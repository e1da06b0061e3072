package sessions

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"regexp"
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
	wantCode(t, errOf(m.Create(t.Context(), me, CreateRequest{})), CodeLimit, "2 interpreters", "--max-sessions-per-client", "delete")
	wantCode(t, errOf(m.Branch(t.Context(), me, "")), CodeLimit, "--max-sessions-per-client")
	must(t, errOf(m.Create(t.Context(), other, CreateRequest{})))
}

func TestTheOldestIdleSessionMakesRoom(t *testing.T) {
	for name, limit := range map[string]func(*Options){
		"in all":          func(o *Options) { o.MaxSessions = 3 },
		"for each client": func(o *Options) { o.MaxPerClient = 3 },
	} {
		t.Run(name, func(t *testing.T) {
			survive(t, remembers(), func(o *Options) { limit(o); o.EndOldest = true }, func(t *testing.T, m *Manager, f *fakeStarter) {
				running, oldest, recent := mustCreate(t, m), mustCreate(t, m), mustCreate(t, m)
				mustRun(t, m, RunRequest{Code: "hang", InterpreterID: running.ID, Wait: time.Second})
				runIn(t, m, oldest.ID, "a")
				time.Sleep(time.Second)
				runIn(t, m, recent.ID, "b")
				next := mustCreate(t, m)
				got := ids(list(t, m))
				expect(t, len(got) == 3 && !slices.Contains(got, oldest.ID) && slices.Contains(got, next.ID), "%q", got)
				expect(t, f.started()[1].closed, "the worker of the one that was ended lives")
				wantCode(t, errOf(m.Run(t.Context(), me, RunRequest{Code: "x", InterpreterID: oldest.ID})), CodeNotFound, oldest.ID, "to make room for another one (--when-full end-oldest)", "create")
				wantCode(t, errOf(m.Run(t.Context(), other, RunRequest{Code: "x", InterpreterID: oldest.ID})), CodeNotFound, "not found")
			})
		})
	}
}

func TestNoSessionInUseMakesRoom(t *testing.T) {
	survive(t, remembers(), func(o *Options) { o.MaxSessions, o.EndOldest = 1, true }, func(t *testing.T, m *Manager, _ *fakeStarter) {
		run(t, m, "a")
		wantCode(t, errOf(m.Branch(t.Context(), me, "")), CodeLimit, "limit of 1") // its parent is in use
		wantOut(t, run(t, m, "b"), "a b")
		wantCode(t, errOf(m.Create(t.Context(), other, CreateRequest{})), CodeLimit, "limit of 1", "other clients", "later")
		mustRun(t, m, RunRequest{Code: "hang", Wait: time.Second})
		wantCode(t, errOf(m.Create(t.Context(), me, CreateRequest{})), CodeLimit, "limit of 1")
		l := list(t, m)
		expect(t, len(l) == 1 && l[0].Status == "busy", "%+v", l)
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
		wantTook(t, began, 0)
	})
}

func TestAnIdleEndIsTold(t *testing.T) {
	survive(t, remembers(), func(o *Options) { o.IdleTTL = 30 * time.Minute }, func(t *testing.T, m *Manager, _ *fakeStarter) {
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
		_, err := m.Undo(t.Context(), me, "")
		expect(t, CodeOf(err) == CodeNotFound && err.Error() == farewell, "%+v", err)
		got := m.Farewell(me)
		expect(t, got == farewell && m.Farewell("another") == "", "%q", got)
		r := run(t, m, "b")
		same(t, "", m.Farewell(me))
		expect(t, r.Stdout == "b" && strings.Contains(notes(r), "your earlier default interpreter "+id+" was ended after being idle for 30 minutes (--idle-ttl); this is a new one, without its variables"),
			"%+v", r)
		r = run(t, m, "c")
		expect(t, len(r.Notes) == 0, "told twice: %q", r.Notes)
	})
}

func TestTheLastEndingsAreRemembered(t *testing.T) {
	var e endings
	for i := range keptEndings + 10 {
		e.add(ending{id: fmt.Sprint(i), client: me, why: "because", isDefault: i%2 == 0})
	}
	for id, want := range map[string]string{"9": "", "10": "because", "265": "because", "266": ""} {
		got := e.why(me, id)
		expect(t, got == want, "%s: %q", id, got)
	}
	expect(t, e.why(other, "100") == "", "another client learns of it")
	_, ok := e.forgetDefault(defaultKey{client: me})
	expect(t, ok && len(e) == keptEndings, "%d kept", len(e))
	_, ok = e.forgetDefault(defaultKey{client: me})
	expect(t, !ok, "told twice")
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
		must(t, <-done)
	}
}

// TestManyIdleSessionsCostNoGoroutines: what rests needs nobody to watch it.
func TestManyIdleSessionsCostNoGoroutines(t *testing.T) {
	const many = 300
	m := surviving(t, remembers(), func(o *Options) { o.MaxSessions, o.IdleTTL = many, time.Hour })
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
		expect(t, s.current == nil && len(s.uncollected) == 0, "%s keeps an execution", s.id)
	}
}

// TestAListingMeasuresNoLongerThanItMay has each process take its time.
func TestAListingMeasuresNoLongerThanItMay(t *testing.T) {
	survive(t, remembers(), func(o *Options) { o.MaxSessions = 50 }, func(t *testing.T, m *Manager, f *fakeStarter) {
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
	survive(t, remembers(), nil, func(t *testing.T, m *Manager, _ *fakeStarter) {
		run(t, m, "a")
		mustRun(t, m, RunRequest{Code: "hang", Wait: time.Second})
		go func() { _, _ = m.Run(t.Context(), me, RunRequest{Code: "b", Wait: time.Second}) }()
		synctest.Wait()
		began := time.Now()
		l := list(t, m)[0]
		expect(t, l.Status == "busy" && l.Waiting == 1 && l.Recoverable, "%+v", l)
		wantTook(t, began, 0)
	})
}

const stdio, anna, bert = Client("stdio"), Client("principal:anna"), Client("principal:bert")

func create(t *testing.T, m *Manager, client Client, name string) string {
	t.Helper()
	l, err := m.Create(t.Context(), client, CreateRequest{InterpreterID: name})
	must(t, err)
	return l.ID
}

func runAs(t *testing.T, m *Manager, client Client, r RunRequest) *Result {
	t.Helper()
	result, err := m.Run(t.Context(), client, r)
	must(t, err)
	return result
}

func TestNamesAreShortWhereTheyAreNoKeys(t *testing.T) {
	m := newTestManager(t, echoes(), nil)
	for i, want := range []string{"py1", "py2", "analysis", "py3"} {
		chosen := ""
		if want == "analysis" {
			chosen = want
		}
		got := create(t, m, anna, chosen)
		expect(t, got == want, "session %d is called %q, want %q", i, got, want)
	}
	must(t, m.Delete(t.Context(), anna, "py3"))
	got := create(t, m, anna, "")
	expect(t, got == "py4", "after py3 was deleted the next one is called %q: a late call could meet it", got)
}

func TestSameNameOfTwoClientsIsTwoSessions(t *testing.T) {
	m := newTestManager(t, echoes(), nil)
	create(t, m, anna, "analysis")
	m.mu.Lock()
	keys := slices.Collect(maps.Keys(m.sessions))
	m.mu.Unlock()
	for _, id := range keys {
		for _, given := range []string{"analysis", id} {
			for _, stranger := range []Client{bert, me, Anonymous} {
				err := errOf(m.Run(t.Context(), stranger, RunRequest{InterpreterID: given, Code: "x"}))
				expect(t, CodeOf(err) == CodeNotFound, "%q reached anna's session by %q: %v", stranger, given, err)
			}
		}
	}
	create(t, m, bert, "analysis")
	for _, client := range []Client{anna, bert} {
		same(t, "analysis", runAs(t, m, client, RunRequest{InterpreterID: "analysis", Code: "x = 1"}).InterpreterID)
	}
	all, err := m.List(t.Context(), anna)
	expect(t, err == nil && len(all) == 1 && all[0].Executions == 1, "anna sees %+v, %v", all, err)
	must(t, m.Delete(t.Context(), bert, "analysis"))
	runAs(t, m, anna, RunRequest{InterpreterID: "analysis", Code: "x"})
	wantCode(t, errOf(m.Run(t.Context(), bert, RunRequest{InterpreterID: "analysis", Code: "x"})), CodeNotFound)
}

func TestNameOfKeyedClientIsInItsKey(t *testing.T) {
	m := newTestManager(t, echoes(), nil)
	key := create(t, m, me, "analysis")
	if !regexp.MustCompile(`^analysis-[0-9a-f]{32}$`).MatchString(key) {
		t.Fatalf("the session is called %q", key)
	}
	for _, id := range []string{key, "analysis"} {
		result := runAs(t, m, me, RunRequest{InterpreterID: id, Code: "x"})
		expect(t, result.InterpreterID == key, "as %q it answers as %q", id, result.InterpreterID)
	}
	for _, stranger := range []Client{other, Anonymous} {
		_, err := m.Run(t.Context(), stranger, RunRequest{InterpreterID: "analysis", Code: "x"})
		expect(t, CodeOf(err) == CodeNotFound, "%q reached it by its name: %v", stranger, err)
	}
}

func TestNamesThatNobodyGets(t *testing.T) {
	m := newTestManager(t, echoes(), nil)
	create(t, m, stdio, "taken")
	for name, why := range map[string]string{
		"taken":                    "already",
		"py7":                      "given by the server",
		strings.Repeat("0", 32):    "given by the server",
		"x-" + newID(""):           "given by the server",
		"my analysis":              "letters",
		"../up":                    "letters",
		".hidden":                  "letters",
		strings.Repeat("long", 17): "letters",
		"größe":                    "letters",
	} {
		_, err := m.Create(t.Context(), stdio, CreateRequest{InterpreterID: name})
		expect(t, CodeOf(err) == CodeInvalid && strings.Contains(err.Error(), `"interpreter_id"`) && strings.Contains(err.Error(), why), "%q: %v", name, err)
	}
}

func TestEndedSessionIsToldByItsName(t *testing.T) {
	m := newTestManager(t, echoes(), func(o *Options) { o.MaxPerClient, o.EndOldest = 1, true })
	runAs(t, m, anna, RunRequest{Code: "x"})
	create(t, m, anna, "analysis")
	_, err := m.Run(t.Context(), anna, RunRequest{InterpreterID: "py1", Code: "x"})
	expect(t, CodeOf(err) == CodeNotFound && strings.Contains(err.Error(), "py1 was ended to make room"), "%+v", err)
}

func TestNamesInIDs(t *testing.T) {
	key := newID("")
	for id, want := range map[string]string{
		key: key, "py1-" + key: "py1", "a-b-" + key: "a-b", "py1": "py1", "": "", "-" + key: "", "x" + key: "x" + key,
	} {
		got := NameOf(id)
		expect(t, got == want, "the name in %q is %q, want %q", id, got, want)
	}
}

type departure struct {
	m       *Manager
	id      string
	queued  chan error
	waiting chan error
}

func depart(t *testing.T, interrupts bool) departure {
	t.Helper()
	m := newTestManager(t, obeys(), func(o *Options) { o.InterruptOnLeave = interrupts })
	t.Cleanup(func() { m.Close(context.WithoutCancel(t.Context())) })
	d := departure{m, mustRun(t, m, RunRequest{Code: "x", Wait: -1}).InterpreterID, make(chan error, 1), make(chan error, 1)}
	go func() {
		_, err := m.Run(t.Context(), me, RunRequest{Code: "y", Wait: time.Hour})
		d.queued <- err
	}()
	go func() {
		_, err := m.Await(t.Context(), me, WaitRequest{InterpreterID: "", Wait: time.Hour})
		d.waiting <- err
	}()
	synctest.Wait()
	m.Leave(t.Context(), me, false)
	err := <-d.queued
	expect(t, errors.Is(err, context.Canceled), "the queued call: %v", err)
	err = <-d.waiting
	expect(t, errors.Is(err, context.Canceled), "the waiting call: %v", err)
	return d
}

func TestRunsOutliveTheirClient(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := depart(t, false)
		all, _ := d.m.List(t.Context(), me)
		expect(t, len(all) == 0, "%+v", all)
		wantCode(t, errOf(d.m.Await(t.Context(), me, WaitRequest{InterpreterID: "", Wait: -1})), CodeNotFound, "no interpreter yet")
		must(t, errOf(d.m.Interrupt(t.Context(), other, d.id)))
		r, err := d.m.Await(t.Context(), other, WaitRequest{InterpreterID: d.id, Wait: time.Second})
		expect(t, err == nil && r.Status == StatusInterrupted && strings.HasSuffix(r.Stdout, "stopping\n") && r.Execution == 1, "%+v, %v", r, err)
		all, _ = d.m.List(t.Context(), other)
		expect(t, slices.Equal(ids(all), []string{d.id}) && !all[0].Default && all[0].Executions == 1, "%+v", all)
		wantCode(t, errOf(d.m.Show(t.Context(), me, d.id)), CodeNotFound)
	})
}

func TestRunsEndWithTheirClient(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := depart(t, true)
		r, err := d.m.Await(t.Context(), Anonymous, WaitRequest{InterpreterID: d.id, Wait: time.Minute})
		expect(t, err == nil && r.Status == StatusInterrupted && strings.Contains(r.ExcInfo.Msg, "--on-disconnect"), "%+v, %v", r, err)
	})
}

func TestGoodbyeEndsSessions(t *testing.T) {
	manage(t, obeys(), func(o *Options) { o.AbandonedTTL = time.Hour }, func(t *testing.T, m *Manager, _ *fakeStarter) {
		theirs, err := m.Create(t.Context(), other, CreateRequest{})
		must(t, err)
		keyed := mustRun(t, m, RunRequest{Code: "x", Wait: -1}).InterpreterID
		forgotten := mustCreate(t, m).ID
		m.Leave(t.Context(), other, true)
		for _, client := range []Client{me, other, Anonymous} {
			_, err := m.Show(t.Context(), client, theirs.ID)
			expect(t, err != nil, "%s still has it", client)
		}
		m.Leave(t.Context(), me, true)
		r, err := m.Await(t.Context(), "me again", WaitRequest{InterpreterID: keyed, Wait: time.Second})
		expect(t, err == nil && r.Status == StatusRunning, "%+v, %v", r, err)
		m.Leave(t.Context(), Anonymous, true)
		must(t, errOf(m.Show(t.Context(), "me again", forgotten)))
	})
}

type lost struct{}

func (lost) Error() string { return "connection reset" }

func (lost) Disconnected() bool { return true }

func TestALostConnectionIsNoCancellation(t *testing.T) {
	for interrupts, want := range map[bool]Status{false: StatusRunning, true: StatusInterrupted} {
		manage(t, obeys(), func(o *Options) { o.InterruptOnLeave = interrupts }, func(t *testing.T, m *Manager, _ *fakeStarter) {
			ctx, lose := context.WithCancelCause(t.Context())
			time.AfterFunc(time.Second, func() { lose(lost{}) })
			_, err := m.Run(ctx, me, RunRequest{Code: "x"})
			expect(t, errors.Is(err, context.Canceled), "%+v", err)
			r, err := m.Await(t.Context(), me, WaitRequest{InterpreterID: "", Wait: time.Second})
			expect(t, err == nil && r.Status == want, "interrupts %t: %+v, %v", interrupts, r, err)
		})
	}
}

func TestCallsOfADepartedClientMakeNothing(t *testing.T) {
	m := surviving(t, remembers(), func(o *Options) { o.MaxSessions = 100 })
	nobodys := anonymously(t, m, "", "a").InterpreterID
	ctx := t.Context()
	for bye, client := range map[bool]Client{false: "dropped", true: "said goodbye"} {
		under, depart := m.follow(ctx, client)
		m.Leave(ctx, client, bye)
		_, _, err := m.register(under, client, birth{isDefault: true})
		expect(t, errors.Is(err, context.Canceled), "under way: %v", err)
		depart()
		for name, call := range map[string]func() error{
			"run":    func() error { _, err := m.Run(ctx, client, RunRequest{Code: "x"}); return err },
			"at id":  func() error { _, err := m.Run(ctx, client, RunRequest{Code: "x", InterpreterID: nobodys}); return err },
			"create": func() error { _, err := m.Create(ctx, client, CreateRequest{}); return err },
			"branch": func() error { _, err := m.Branch(ctx, client, nobodys); return err },
			"upload": func() error { _, err := m.Upload(ctx, client, "", "f", nil); return err },
		} {
			err := call()
			expect(t, errors.Is(err, context.Canceled), "%s: %v", name, err)
		}
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	expect(t, len(m.sessions) == 1 && len(m.calls) == 0 && len(m.owned[Anonymous]) == 1,
		"%d sessions, %d of nobody; calls %v", len(m.sessions), len(m.owned[Anonymous]), m.calls)
}

func TestDeparturesAreForgotten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := departures{}
		d.add("mcp:1")
		time.Sleep(lateCalls / 2)
		d.add("mcp:2")
		time.Sleep(lateCalls + 1)
		d.add("mcp:3")
		expect(t, len(d) == 1, "%v", d)
		for i := range 2 * mostDepartures {
			time.Sleep(time.Millisecond)
			d.add(Client(fmt.Sprint(i)))
		}
		expect(t, len(d) == mostDepartures && !d[Client(fmt.Sprint(mostDepartures))].IsZero(), "%d are kept, which are not the last", len(d))
	})
}
