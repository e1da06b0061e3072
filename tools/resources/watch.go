package resources

import (
	"cmp"
	"context"
	"crypto/sha256"
	"fmt"
	"maps"
	"strings"
	"time"

	"github.com/mark3labs/mcp-go/mcp"

	"understudy/sessions"
	"understudy/tools/resources/uri"
)

// watch has subscribers looked after for as long as there are some. Each look is a
// goroutine of its own, so that a slow one delays nobody, and few are made at once.
func (u *updates) watch() {
	tick := time.NewTicker(u.every)
	defer tick.Stop()
	for u.lookAfterAll() {
		select {
		case <-tick.C:
		case <-u.life.Done():
			return
		}
	}
}

// lookAfterAll begins the looks that are due, and reports whether anybody is there.
func (u *updates) lookAfterAll() bool {
	u.mu.Lock()
	defer u.mu.Unlock()
	for _, s := range u.subscribers {
		// The first look comes after a while: the subscription may not have been
		// acknowledged yet.
		if !s.looking && (s.restless || s.calls != u.calls) && time.Since(s.since) >= u.every {
			s.looking, s.restless, s.calls = true, false, u.calls // before the look, which may miss what comes after
			u.watches.Go(func() { u.look(s) })
		}
	}
	u.ticking = len(u.subscribers) > 0
	return u.ticking
}

// look tells a subscriber what it doesn't know. The first notification that it doesn't take
// ends the look; the next one tells the rest.
func (u *updates) look(s *subscriber) {
	select {
	case u.looks <- struct{}{}:
		defer func() { <-u.looks }()
	case <-s.life.Done():
		return
	}
	ctx, cancel := context.WithTimeout(s.life, lookTime)
	defer cancel()
	u.mu.Lock()
	list := s.list
	u.mu.Unlock()
	runs := list && u.runs(s.client) // before the look too: code may end during it
	err := u.tell(ctx, s)
	u.mu.Lock()
	defer u.mu.Unlock()
	s.looking, s.restless = false, s.restless || err != nil || runs || len(s.told) > 0
}

// tell fails with the first notification that the subscriber doesn't take, and where there
// was no time to find out.
func (u *updates) tell(ctx context.Context, s *subscriber) error {
	u.mu.Lock()
	told, list, listed := maps.Clone(s.told), s.list, s.listed
	u.mu.Unlock()
	for address, known := range told {
		now, gone := u.state(ctx, s.client, address)
		if gone != nil {
			now = gone.Error()
		}
		if ctx.Err() != nil { // then the look says nothing of the resource
			return ctx.Err()
		}
		if now == known {
			continue
		}
		if err := s.send(mcp.MethodNotificationResourceUpdated, map[string]any{"uri": address}); err != nil {
			return err
		}
		u.heard(s, address, now, gone != nil)
	}
	if !list {
		return nil
	}
	now := listState(u.own(s.client))
	if now == listed || ctx.Err() != nil {
		return ctx.Err()
	}
	err := s.send(mcp.MethodNotificationResourcesListChanged, nil)
	if err == nil {
		u.mu.Lock()
		defer u.mu.Unlock()
		s.listed = now
	}
	return err
}

// heard notes what a subscriber knows now of a resource that it still watches. What is gone
// for good is told of once; a file may come back.
func (u *updates) heard(s *subscriber, address, state string, gone bool) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if _, still := s.told[address]; still {
		s.told[address] = state
	}
	if a, _ := uri.Parse(address); gone && a.Kind != uri.File && a.Kind != uri.Directory {
		delete(s.told, address)
	}
}

// state says in a few words how a resource stands: it changes when the resource
// does. An error is for who can't see it.
func (u *updates) state(ctx context.Context, client sessions.Client, address string) (string, error) {
	a, err := uri.Parse(address)
	if err != nil {
		return "", err
	}
	switch a.Kind {
	case uri.Interpreter:
		l, err := u.library.Interpreter(client, a.Interpreter)
		return fmt.Sprint(l.Executions, l.Running, l.Prompt, l.Ended, l.Unfetched, l.PID), err
	case uri.Execution, uri.Output:
		b, err := u.library.Brief(client, a.Interpreter, a.Execution)
		if a.Kind == uri.Output {
			return fmt.Sprint(b.Status.Runs(), b.Printed[a.Stream]), err
		}
		return fmt.Sprint(b.Status, b.Printed, len(b.Figures), len(b.Artifacts)), err
	case uri.Figure:
		_, err := u.library.Interpreter(client, a.Interpreter)
		return "", err
	case uri.Artifact:
		briefs, err := u.library.Executions(client, a.Interpreter)
		if err != nil {
			return "", err
		}
		return artifactState(briefs, a)
	case uri.PreviewKind:
		text, err := u.previewNow(ctx)
		return fmt.Sprint(sha256.Sum256([]byte(text))), err
	default:
		f, err := u.library.Stat(ctx, client, a.Interpreter, cmp.Or(a.Name, "."))
		return fmt.Sprint(f.Kind, f.Size, f.Modified.UnixNano()), err
	}
}

// artifactState changes when another artifact takes the place of the one that a names.
func artifactState(briefs []sessions.Brief, a uri.Address) (state string, err error) {
	err = sessions.Errorf(sessions.CodeNotFound, "interpreter %s has kept no artifact %.200q", a.Interpreter, a.Name)
	times := 0
	for _, b := range briefs { // oldest first
		for _, kept := range b.Artifacts {
			if kept.Name == a.Name {
				times += 1 + kept.Replaced
				state, err = fmt.Sprint(b.Execution, times, kept.Size), nil
			}
		}
	}
	return state, err
}

func listState(resources []mcp.Resource) string {
	var state strings.Builder
	for _, r := range resources {
		state.WriteString(r.URI)
		state.WriteByte('\n')
	}
	return state.String()
}

// runs reports whether code of the client's runs now.
func (u *updates) runs(client sessions.Client) bool {
	for _, id := range u.library.Own(client) {
		if listing, err := u.library.Interpreter(client, id); err == nil && listing.Running > 0 {
			return true
		}
	}
	return false
}
