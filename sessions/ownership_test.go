package sessions

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// anonymously runs code for a caller that can't be told from others.
func anonymously(t *testing.T, m *Manager, id, code string) *Result {
	t.Helper()
	return runAs(t, m, Anonymous, RunRequest{Code: code, InterpreterID: id})
}

func TestAnonymousCallersOwnNothing(t *testing.T) {
	m := surviving(t, remembers(), nil)
	first, second := anonymously(t, m, "", "a"), anonymously(t, m, "", "b")
	if first.InterpreterID == second.InterpreterID || second.Stdout != "b" {
		t.Fatalf("%+v, %+v", first, second)
	}
	wantOut(t, anonymously(t, m, first.InterpreterID, "c"), "a c")
	all, err := m.List(t.Context(), Anonymous)
	expect(t, err == nil && len(all) == 0, "%+v, %v", all, err)
	l, err := m.Show(t.Context(), Anonymous, first.InterpreterID)
	expect(t, err == nil && l.Executions == 2 && !l.Default, "%+v, %v", l, err)
	same(t, "", m.Farewell(Anonymous))
	child, err := m.Branch(t.Context(), Anonymous, first.InterpreterID)
	must(t, err)
	wantOut(t, anonymously(t, m, child.ID, "d"), "a c d")
	must(t, m.Delete(t.Context(), Anonymous, first.InterpreterID))
}

// everyOperation does with a session all that can be done with one.
func everyOperation(ctx context.Context, m *Manager, client Client, id string) map[string]error {
	failed := map[string]error{}
	_, failed["run"] = m.Run(ctx, client, RunRequest{Code: "x", InterpreterID: id})
	_, failed["wait"] = m.Await(ctx, client, WaitRequest{InterpreterID: id, Wait: -1})
	_, failed["answer"] = m.Await(ctx, client, WaitRequest{InterpreterID: id, Answer: &Answer{Execution: 1, Question: 1}})
	_, failed["interrupt"] = m.Interrupt(ctx, client, id)
	_, failed["restart"] = m.Restart(ctx, client, id)
	_, failed["branch"] = m.Branch(ctx, client, id)
	_, failed["undo"] = m.Undo(ctx, client, id)
	_, _, failed["variables"] = m.Variables(ctx, client, id)
	_, failed["show"] = m.Show(ctx, client, id)
	failed["delete"] = m.Delete(ctx, client, id)
	return failed
}

// TestOthersAreNotFound: another's session can't be told from none at all.
func TestOthersAreNotFound(t *testing.T) {
	m := surviving(t, remembers(), nil)
	mine := mustCreate(t, m).ID
	unknown := newID("")
	theirs, err := m.Create(t.Context(), other, CreateRequest{})
	must(t, err)
	for client, id := range map[Client]string{other: mine, me: theirs.ID, Anonymous: theirs.ID} {
		foreign, none := everyOperation(t.Context(), m, client, id), everyOperation(t.Context(), m, client, unknown)
		for operation, err := range foreign {
			wantCode(t, err, CodeNotFound, id)
			if got, want := err.Error(), strings.ReplaceAll(none[operation].Error(), unknown, id); got != want {
				t.Errorf("%s: %q, but %q for an id that nobody has", operation, got, want)
			}
		}
	}
}

func TestAnonymousCallersMustNameTheirs(t *testing.T) {
	m := surviving(t, remembers(), nil)
	for operation, err := range everyOperation(t.Context(), m, Anonymous, "") {
		switch operation {
		case "run":
			if err != nil {
				t.Error(err)
			}
		case "delete":
			wantCode(t, err, CodeInvalid, "interpreter_id is required")
		default:
			wantCode(t, err, CodeNotFound, "interpreter_id is required", "earlier answer named", "run_python_code")
		}
	}
}

// TestAnonymousFlood: sessions that nobody comes back to make room for others, and
// those that somebody has come back to never do.
func TestAnonymousFlood(t *testing.T) {
	survive(t, remembers(), func(o *Options) { o.MaxSessions = 8 }, func(t *testing.T, m *Manager, _ *fakeStarter) {
		used := anonymously(t, m, "", "a").InterpreterID
		anonymously(t, m, used, "b")
		for range 70 {
			anonymously(t, m, "", "flood")
			time.Sleep(time.Millisecond)
		}
		mustCreate(t, m)
		mustCreate(t, m) // there is room for clients that are known
		latest := anonymously(t, m, "", "latest").InterpreterID
		for range 4 { // the least recently used go first
			anonymously(t, m, "", "flood")
			time.Sleep(time.Millisecond)
		}
		for id, want := range map[string]string{used: "a b c", latest: "latest c"} {
			wantOut(t, anonymously(t, m, id, "c"), want)
		}
		mustCreate(t, m) // a known client may end what nobody has come back for, too
		for range 3 {    // in use, all of them
			id := anonymously(t, m, "", "x").InterpreterID
			anonymously(t, m, id, "y")
		}
		wantCode(t, errOf(m.Run(t.Context(), Anonymous, RunRequest{Code: "x"})), CodeLimit, "limit of 6 interpreters", "without authentication", "interpreter_id")
		wantCode(t, errOf(m.Create(t.Context(), me, CreateRequest{})), CodeLimit, "--max-sessions")
	})
}

func TestNobodysSessionsEnd(t *testing.T) {
	survive(t, remembers(), func(o *Options) { o.AbandonedTTL, o.MaxSessions = time.Hour, 8 }, func(t *testing.T, m *Manager, _ *fakeStarter) {
		once := anonymously(t, m, "", "a").InterpreterID
		twice := anonymously(t, m, "", "a").InterpreterID
		running := anonymously(t, m, "", "a").InterpreterID
		anonymously(t, m, twice, "b")
		runAs(t, m, Anonymous, RunRequest{Code: "hang", InterpreterID: running, Timeout: 2 * time.Hour, Wait: time.Second})
		mine := mustCreate(t, m).ID
		time.Sleep(unclaimedTTL + 2*time.Minute)
		wantCode(t, errOf(m.Run(t.Context(), Anonymous, RunRequest{Code: "x", InterpreterID: once})), CodeNotFound, "was ended after being idle for 10 minutes", "no call had named it")
		time.Sleep(time.Hour - unclaimedTTL)
		wantCode(t, errOf(m.Run(t.Context(), Anonymous, RunRequest{Code: "x", InterpreterID: twice})), CodeNotFound, "was ended after being idle for 1 hour")
		l, err := m.Show(t.Context(), Anonymous, running)
		expect(t, err == nil && l.Status == "busy", "%+v, %v", l, err)
		r := runIn(t, m, mine, "a")
		expect(t, r.Status == StatusOK, "%+v", r)
	})
}

// TestACallThatFailsLeavesNoSession that nobody knows of.
func TestACallThatFailsLeavesNoSession(t *testing.T) {
	survive(t, remembers(), nil, func(t *testing.T, m *Manager, _ *fakeStarter) {
		runAndCancel(t, m, Anonymous)
		wantCode(t, errOf(m.Upload(t.Context(), Anonymous, "", "a/"+strings.Repeat("x", 3000), nil)), CodeInvalid)
		m.mu.Lock()
		defer m.mu.Unlock()
		same(t, 0, len(m.sessions))
	})
}

// TestAHandleIsAKey from any connection without authentication, also to what has an
// owner. That keeps it, and its default.
func TestAHandleIsAKey(t *testing.T) {
	m := surviving(t, remembers(), nil)
	id := run(t, m, "a").InterpreterID
	for _, client := range []Client{"session:another", "process:7.1 x", Anonymous} {
		r, err := m.Run(t.Context(), client, RunRequest{Code: "b", InterpreterID: id})
		expect(t, err == nil && r.InterpreterID == id, "%q: %+v, %v", client, r, err)
		all, _ := m.List(t.Context(), client)
		expect(t, len(all) == 0, "%q: a visitor lists it: %+v", client, all)
		r, err = m.Run(t.Context(), client, RunRequest{Code: "own"})
		expect(t, err == nil && r.InterpreterID != id, "%q: a visitor's default: %+v, %v", client, r, err)
	}
	r := run(t, m, "c")
	expect(t, r.InterpreterID == id && r.Stdout == "a b b b c", "%+v", r)
	for _, client := range []Client{"principal:ann", "stdio"} {
		wantCode(t, errOf(m.Run(t.Context(), client, RunRequest{Code: "b", InterpreterID: id})), CodeNotFound)
	}
}

// TestConversations have a default each, of a client that owns them all.
func TestConversations(t *testing.T) {
	t.Parallel()
	type chatKey struct{}
	m := surviving(t, remembers(), func(o *Options) {
		o.MaxSessions = 4
		o.Conversation = func(ctx context.Context) string { chat, _ := ctx.Value(chatKey{}).(string); return chat }
	})
	in := func(chat, code string) *Result {
		r, err := m.Run(context.WithValue(t.Context(), chatKey{}, chat), other, RunRequest{Code: code})
		must(t, err)
		return r
	}
	first, second := in("one", "a"), in("two", "b")
	again := in("one", "c")
	expect(t, again.InterpreterID == first.InterpreterID && again.Stdout == "a c" && second.Stdout == "b", "%+v, %+v, %+v", first, second, again)
	in("two", "d")
	plain := in("", "e")
	expect(t, plain.Stdout == "e", "%+v", plain)
	all, _ := m.List(t.Context(), other)
	expect(t, len(all) == 3, "%+v", all)
	for i := range 70 { // each comes twice, and none meets the limit
		in(fmt.Sprint("more ", i), "x")
		in(fmt.Sprint("more ", i), "y")
	}
	r := in("one", "z")
	expect(t, r.Stdout == "z" && strings.Contains(notes(r), "to make room for another conversation"), "%+v", r)
	r = in("", "f")
	wantOut(t, r, "e f")
}

// TestSeventyCalls that each come as a new client never meet the limit, whoever they
// are, and take nothing from who came back.
func TestSeventyCalls(t *testing.T) {
	t.Parallel()
	for name, client := range map[string]func(i int) Client{
		"anonymous":    func(int) Client { return Anonymous },
		"MCP sessions": func(i int) Client { return Client(fmt.Sprint("session:", i)) },
		"processes":    func(i int) Client { return Client(fmt.Sprintf("process:%d.1 x", i)) },
	} {
		t.Run(name, func(t *testing.T) {
			last := ""
			m := surviving(t, remembers(), func(o *Options) {
				o.MaxSessions = 4
				if name != "processes" {
					o.Origin = func(context.Context) string { return "address:192.0.2.1" }
				}
				o.HasEnded = func(origin string) bool { return strings.HasPrefix(origin, "process:") && origin != last }
			})
			mine := run(t, m, "a").InterpreterID
			run(t, m, "b")
			for i := range 70 {
				last = client(i).party()
				if r, err := m.Run(t.Context(), client(i), RunRequest{Code: "x"}); err != nil || r.Stdout != "x" {
					t.Fatalf("call %d: %+v, %v", i, r, err)
				}
			}
			r := run(t, m, "c")
			expect(t, r.InterpreterID == mine && r.Stdout == "a b c", "%+v", r)
		})
	}
}

// TestAFloodEvictsItsOwn: who has just made its first call keeps its interpreter,
// whatever another program does in how many names.
func TestAFloodEvictsItsOwn(t *testing.T) {
	type placeKey struct{}
	bubble(t, func(t *testing.T) {
		m := surviving(t, remembers(), func(o *Options) {
			o.MaxSessions = 4
			o.Origin = func(ctx context.Context) string { place, _ := ctx.Value(placeKey{}).(string); return place }
		})
		from := func(place string, client Client, code string) (*Result, error) {
			return m.Run(context.WithValue(t.Context(), placeKey{}, place), client, RunRequest{Code: code})
		}
		must := func(place string, client Client, code, want string) {
			t.Helper()
			r, err := from(place, client, code)
			expect(t, err == nil && r.Stdout == want, "%s: %+v, %v", client, r, err)
		}
		must("address:192.0.2.1", "session:victim", "a", "a")
		for i := range 10 {
			must("process:666.1", Client(fmt.Sprint("process:666.1 n", i)), "x", "x")
			must("process:666.1", Client(fmt.Sprint("session:flood ", i)), "x", "x")
		}
		must("address:192.0.2.1", "session:victim", "b", "a b")

		wantCode(t, errOf(from("process:7.1", "process:7.1 x", "y")), CodeLimit, "by other clients", "later")
		time.Sleep(restTime)
		must("process:7.1", "process:7.1 x", "y", "y")
		must("address:192.0.2.1", "session:victim", "c", "a b c")
	})
}

// TestAProgramIsOneClient for the limit, by whatever names and in however many MCP
// sessions it calls. What it has not come back to gives way when it asks for no more.
func TestAProgramIsOneClient(t *testing.T) {
	bubble(t, func(t *testing.T) {
		m := surviving(t, remembers(), func(o *Options) {
			o.MaxPerClient = 2
			o.Origin = func(context.Context) string { return "process:7.1" }
		})
		first, second := Client("process:7.1 a"), Client("session:b")
		for _, client := range []Client{first, second} {
			runAs(t, m, client, RunRequest{Code: "x"})
			time.Sleep(time.Millisecond)
		}
		wantCode(t, errOf(m.Create(t.Context(), "process:7.1 c", CreateRequest{})), CodeLimit, "your program has 2 interpreters already, by all its names", "--max-sessions-per-client", "delete")
		wantOut(t, runAs(t, m, "process:7.1 c", RunRequest{Code: "z"}), "z")
		wantOut(t, runAs(t, m, second, RunRequest{Code: "y"}), "x y")
		runAs(t, m, "process:7.1 c", RunRequest{Code: "y"})
		wantCode(t, errOf(m.Run(t.Context(), first, RunRequest{Code: "y"})), CodeLimit, "your program has 2 interpreters already, by all its names")
		must(t, errOf(m.Create(t.Context(), other, CreateRequest{})))
	})
}

// TestAProcessComesBack if it was taken for ended, and an MCP session does not.
func TestAProcessComesBack(t *testing.T) {
	m := surviving(t, remembers(), nil)
	for client, comesBack := range map[Client]bool{"process:7.1 x": true, "session:x": false} {
		m.Leave(t.Context(), client, false)
		_, err := m.Run(t.Context(), client, RunRequest{Code: "a"})
		expect(t, (err == nil) == comesBack, "%s: %v", client, err)
	}
}

// TestNoDefaultInterpreter: each call of such a client must name one, and is told how.
func TestNoDefaultInterpreter(t *testing.T) {
	m := surviving(t, remembers(), func(o *Options) { o.NeedsHandle = func(c Client) bool { return c != other } })
	for _, client := range []Client{me, Anonymous, "stdio"} {
		for operation, err := range everyOperation(t.Context(), m, client, "") {
			if operation != "delete" {
				wantCode(t, err, CodeInvalid, "interpreter_id is required", "--default-interpreter none", "create")
			}
		}
	}
	wantOut(t, runIn(t, m, mustCreate(t, m).ID, "a"), "a")
	runAs(t, m, other, RunRequest{Code: "a"})
}

// TestAFullClientMayUseNobodysSession but gets no more than it may have.
func TestAFullClientMayUseNobodysSession(t *testing.T) {
	m := surviving(t, remembers(), func(o *Options) { o.MaxPerClient = 1 })
	mine := mustCreate(t, m).ID
	id := anonymously(t, m, "", "a").InterpreterID
	wantOut(t, runIn(t, m, id, "b"), "a b")
	got := ids(list(t, m))
	expect(t, slices.Equal(got, []string{mine}), "%+v", got)
}

// TestManyClientsNeverMix: each of two hundred, of three kinds, keeps a state of
// its own while some leave, come back and cancel.
func TestManyClientsNeverMix(t *testing.T) {
	t.Parallel()
	const clients, rounds = 200, 8
	m := surviving(t, remembers(), func(o *Options) { o.MaxSessions, o.History = 3*clients, 0 })
	var all sync.WaitGroup
	for i := range clients {
		all.Go(func() {
			err := live(t.Context(), m, i, rounds)
			expect(t, err == nil, "client %d: %v", i, err)
		})
	}
	all.Wait()
}

// TestLookingTakesNothing: who only looks at nobody's session does not get it,
// so that one who has left can't keep it from others.
func TestLookingTakesNothing(t *testing.T) {
	m := surviving(t, remembers(), nil)
	id := run(t, m, "a").InterpreterID
	m.Leave(t.Context(), me, false)
	ctx := t.Context()
	for name, look := range map[string]func() error{
		"interpreter": func() error { _, err := m.Interpreter(me, id); return err },
		"executions":  func() error { _, err := m.Executions(me, id); return err },
		"brief":       func() error { _, err := m.Brief(me, id, 1); return err },
		"execution":   func() error { _, err := m.Execution(me, id, 1); return err },
		"output":      func() error { _, err := m.Output(ctx, me, id, 1, Stdout, Range{}); return err },
		"files":       func() error { _, err := m.Files(ctx, me, id, ""); return err },
		"stat":        func() error { _, err := m.Stat(ctx, me, id, "."); return err },
	} {
		err := look()
		expect(t, err == nil, "%s: %v", name, err)
	}
	r, err := m.Run(ctx, other, RunRequest{Code: "b", InterpreterID: id})
	expect(t, err == nil && r.Stdout == "a b", "%+v, %v", r, err)
	wantCode(t, errOf(m.Interpreter(me, id)), CodeNotFound)
}

// TestAbandonedSessionsMakeRoom: clients that connect once for each call lock
// nobody out, and who comes back keeps what it has.
func TestAbandonedSessionsMakeRoom(t *testing.T) {
	survive(t, remembers(), func(o *Options) { o.MaxSessions, o.AbandonedTTL = 8, time.Hour }, func(t *testing.T, m *Manager, _ *fakeStarter) {
		visitor := func(i int) (id string, err error) {
			client := Client(fmt.Sprint("visitor ", i))
			r, err := m.Run(t.Context(), client, RunRequest{Code: "a"})
			if err != nil {
				return "", err
			}
			m.Leave(t.Context(), client, false)
			return r.InterpreterID, nil
		}
		var all []string
		for i := range 8 {
			id, err := visitor(i)
			must(t, err)
			all = append(all, id)
			time.Sleep(time.Millisecond)
		}
		wantOut(t, runIn(t, m, all[2], "b"), "a b")
		for i := range 4 {
			must(t, errOf(visitor(10+i)))
			time.Sleep(time.Millisecond)
		}
		anonymously(t, m, "", "c") // may use that room, too
		wantCode(t, errOf(m.Show(t.Context(), me, all[3])), CodeNotFound, "was ended to make room for another one, as its client had left")
		wantOut(t, runIn(t, m, all[2], "d"), "a b d")
		mustCreate(t, m)
		mustCreate(t, m)
		n := len(m.owned[Anonymous])
		expect(t, n <= m.mostOfNobody(), "%d sessions belong to nobody", n)
	})
}

// live is the life of one client of three kinds: one with a name, one that is
// anonymous, and one that loses its connection after each call.
func live(ctx context.Context, m *Manager, i, rounds int) error {
	kind, client, id := i%3, Client(fmt.Sprint("client ", i)), ""
	if kind == 1 {
		client = Anonymous
	}
	var want []string
	for round := range rounds {
		if kind == 2 && round > 0 {
			m.Leave(ctx, client, false)
			client = Client(fmt.Sprintf("client %d again %d", i, round))
		}
		code := fmt.Sprintf("%d.%d", i, round)
		want = append(want, code)
		r, err := m.Run(ctx, client, RunRequest{Code: code, InterpreterID: id})
		if err != nil {
			return err
		}
		if r.Stdout != strings.Join(want, " ") {
			return fmt.Errorf("%q in place of %q", r.Stdout, want)
		}
		if id != "" && r.InterpreterID != id {
			return fmt.Errorf("interpreter %s in place of %s", r.InterpreterID, id)
		}
		if kind != 0 {
			id = r.InterpreterID
		}
		listed, err := m.List(ctx, client)
		if err != nil || kind == 1 && len(listed) != 0 || kind != 1 && !slices.Equal(ids(listed), []string{r.InterpreterID}) {
			return fmt.Errorf("it sees %v, %w", ids(listed), err)
		}
	}
	return nil
}

func TestWhoIsKeyed(t *testing.T) {
	for client, keyed := range map[Client]bool{
		"stdio": false, "principal:anna": false, "principal:anna/conversation": false,
		Anonymous: true, "session:0f3a": true, "process:17:python": true, "stdio2": true, "me": true,
	} {
		expect(t, client.Keyed() == keyed, "client %q: Keyed() is %v", client, !keyed)
	}
}
