package live

import (
	"bytes"
	"context"
	"errors"
	"io"
	"strings"
	"testing"

	tea "charm.land/bubbletea/v2"

	"understudy/internal/journal"
)

// watching opens a journal in memory, and says when it is looked at.
type watching struct {
	*fakeSource
	looked chan struct{}
}

func (w watching) Heartbeats(ctx context.Context, run string) ([]journal.Heartbeat, error) {
	select {
	case w.looked <- struct{}{}:
	default:
	}
	return w.fakeSource.Heartbeats(ctx, run)
}

// TestWatching quits at a key and at the end of its context, and leaves nothing open.
func TestWatching(t *testing.T) {
	for _, byKey := range []bool{true, false} {
		w := watching{&fakeSource{runs: []journal.Run{aRun()}, executions: anExperiment()}, make(chan struct{})}
		in, keys := io.Pipe()
		var out bytes.Buffer
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() {
			ended <- Watch(ctx, Options{Path: "/j.db", Open: func() (Source, error) { return w, nil }},
				Terminal{In: in, Out: &out, Env: []string{"TERM=xterm"}, Dull: true})
		}()
		<-w.looked
		<-w.looked
		want := error(nil)
		if byKey {
			_, err := io.WriteString(keys, "q")
			must(t, err)
		} else {
			stop()
			want = context.Canceled
		}
		err := <-ended
		expect(t, errors.Is(err, want), "by key %v: %v", byKey, err)
		stop()
		_ = keys.Close()
		expect(t, w.closed, "by key %v: the journal stays open", byKey)
		expect(t, !strings.Contains(out.String(), "\x1b[38;"), "by key %v: there are colours", byKey)
	}
}

// TestUpdates holds that one look goes on at a time, with a pause between two.
func TestUpdates(t *testing.T) {
	f := &fakeSource{runs: []journal.Run{aRun(), pastRun()}, executions: anExperiment()}
	m := &model{ctx: t.Context(), screen: newScreen(Options{}), poller: polls(f), dull: true}
	look := m.look()
	expect(t, m.look() == nil, "a second look begins beside the first")
	_, cmd := m.Update(look())
	insist(t, cmd != nil && !m.looking, "no pause after a look")
	pauses := m.pauses
	m.Update(m.screen.styles) // nothing that is known
	_, now := m.Update(tea.KeyPressMsg{Code: tea.KeyEnter})
	insist(t, now != nil && m.looking, "what is opened is not looked at at once")
	if _, cmd := m.Update(pauseMsg(pauses)); cmd != nil {
		t.Error("a pause that is out of date makes for a look")
	}
}
