package sessions

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

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
	if err := <-d.queued; !errors.Is(err, context.Canceled) {
		t.Errorf("the queued call: %v", err)
	}
	if err := <-d.waiting; !errors.Is(err, context.Canceled) {
		t.Errorf("the waiting call: %v", err)
	}
	return d
}

func TestRunsOutliveTheirClient(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := depart(t, false)
		if all, _ := d.m.List(t.Context(), me); len(all) != 0 {
			t.Errorf("%+v", all)
		}
		_, err := d.m.Await(t.Context(), me, WaitRequest{InterpreterID: "", Wait: -1})
		wantCode(t, err, CodeNotFound, "no interpreter yet")
		if _, err := d.m.Interrupt(t.Context(), other, d.id); err != nil {
			t.Error(err)
		}
		r, err := d.m.Await(t.Context(), other, WaitRequest{InterpreterID: d.id, Wait: time.Second})
		if err != nil || r.Status != StatusInterrupted || !strings.HasSuffix(r.Stdout, "stopping\n") || r.Execution != 1 {
			t.Errorf("%+v, %v", r, err)
		}
		if all, _ := d.m.List(t.Context(), other); !slices.Equal(ids(all), []string{d.id}) || all[0].Default || all[0].Executions != 1 {
			t.Errorf("%+v", all)
		}
		_, err = d.m.Show(t.Context(), me, d.id)
		wantCode(t, err, CodeNotFound)
	})
}

func TestRunsEndWithTheirClient(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := depart(t, true)
		r, err := d.m.Await(t.Context(), Anonymous, WaitRequest{InterpreterID: d.id, Wait: time.Minute})
		if err != nil || r.Status != StatusInterrupted || !strings.Contains(r.ExcInfo.Msg, "--on-disconnect") {
			t.Errorf("%+v, %v", r, err)
		}
	})
}

func TestGoodbyeEndsSessions(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newTestManager(t, obeys(), func(o *Options) { o.AbandonedTTL = time.Hour })
		defer m.Close(t.Context())
		theirs, err := m.Create(t.Context(), other, CreateRequest{})
		if err != nil {
			t.Fatal(err)
		}
		keyed := mustRun(t, m, RunRequest{Code: "x", Wait: -1}).InterpreterID
		forgotten := mustCreate(t, m).ID
		m.Leave(t.Context(), other, true)
		for _, client := range []Client{me, other, Anonymous} {
			if _, err := m.Show(t.Context(), client, theirs.ID); err == nil {
				t.Errorf("%s still has it", client)
			}
		}
		m.Leave(t.Context(), me, true)
		if r, err := m.Await(t.Context(), "me again", WaitRequest{InterpreterID: keyed, Wait: time.Second}); err != nil || r.Status != StatusRunning {
			t.Errorf("%+v, %v", r, err)
		}
		m.Leave(t.Context(), Anonymous, true)
		if _, err := m.Show(t.Context(), "me again", forgotten); err != nil {
			t.Error(err)
		}
	})
}

type lost struct{}

func (lost) Error() string { return "connection reset" }

func (lost) Disconnected() bool { return true }

func TestALostConnectionIsNoCancellation(t *testing.T) {
	for interrupts, want := range map[bool]Status{false: StatusRunning, true: StatusInterrupted} {
		synctest.Test(t, func(t *testing.T) {
			m := newTestManager(t, obeys(), func(o *Options) { o.InterruptOnLeave = interrupts })
			defer m.Close(t.Context())
			ctx, lose := context.WithCancelCause(t.Context())
			time.AfterFunc(time.Second, func() { lose(lost{}) })
			if _, err := m.Run(ctx, me, RunRequest{Code: "x"}); !errors.Is(err, context.Canceled) {
				t.Error(err)
			}
			if r, err := m.Await(t.Context(), me, WaitRequest{InterpreterID: "", Wait: time.Second}); err != nil || r.Status != want {
				t.Errorf("interrupts %t: %+v, %v", interrupts, r, err)
			}
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
		_, _, err := m.admit(under, client, birth{isDefault: true})
		if !errors.Is(err, context.Canceled) {
			t.Errorf("under way: %v", err)
		}
		depart()
		for name, call := range map[string]func() error{
			"run":    func() error { _, err := m.Run(ctx, client, RunRequest{Code: "x"}); return err },
			"at id":  func() error { _, err := m.Run(ctx, client, RunRequest{Code: "x", InterpreterID: nobodys}); return err },
			"create": func() error { _, err := m.Create(ctx, client, CreateRequest{}); return err },
			"branch": func() error { _, err := m.Branch(ctx, client, nobodys); return err },
			"upload": func() error { _, err := m.Upload(ctx, client, "", "f", nil); return err },
		} {
			if err := call(); !errors.Is(err, context.Canceled) {
				t.Errorf("%s: %v", name, err)
			}
		}
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if len(m.sessions) != 1 || len(m.calls) != 0 || len(m.owned[Anonymous]) != 1 {
		t.Errorf("%d sessions, %d of nobody; calls %v", len(m.sessions), len(m.owned[Anonymous]), m.calls)
	}
}

func TestDeparturesAreForgotten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := departures{}
		d.add("mcp:1")
		time.Sleep(lateCalls / 2)
		d.add("mcp:2")
		time.Sleep(lateCalls + 1)
		d.add("mcp:3")
		if len(d) != 1 {
			t.Errorf("%v", d)
		}
		for i := range 2 * mostDepartures {
			d.add(Client(fmt.Sprint(i)))
		}
		if len(d) > mostDepartures {
			t.Errorf("%d are kept", len(d))
		}
	})
}
