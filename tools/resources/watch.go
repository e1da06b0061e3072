package resources

import (
	"context"
	"crypto/sha256"
	"fmt"
	"maps"
	"strings"
	"time"

	"github.com/mark3labs/mcp-go/mcp"

	"understudy/sessions"
	"understudy/tools/answer"
	"understudy/tools/resources/uri"
)

// watch tells a subscriber what has changed until it is forgotten. The first look comes
// after a while: the subscription may not have been acknowledged yet.
func (u *updates) watch(key any, s *subscriber) {
	for {
		select {
		case <-time.After(u.every):
		case <-s.life.Done():
			return
		}
		u.mu.Lock()
		stirred := u.stirred // before the look, which may miss what comes after
		u.mu.Unlock()
		select {
		case u.looks <- struct{}{}:
		case <-s.life.Done():
			return
		}
		restless := u.tell(key, s)
		<-u.looks
		if restless {
			continue
		}
		select {
		case <-stirred:
		case <-s.life.Done():
			return
		}
	}
}

// tell sends a subscriber what it doesn't know. It reports whether to look again soon. The
// first notification that the subscriber doesn't take ends the look, and counts for all.
func (u *updates) tell(key any, s *subscriber) (restless bool) {
	ctx, cancel := context.WithTimeout(s.life, lookTime)
	defer cancel()
	err := u.tellAll(ctx, s)
	u.mu.Lock()
	defer u.mu.Unlock()
	switch {
	case err == nil && ctx.Err() == nil:
		s.failures = 0
	case err == nil: // there was no time to find out
	default:
		if s.failures++; s.failures == patienceWith {
			u.Logger.Info("a subscriber takes no notifications and is forgotten", "error", err)
			u.forget(key, s)
		}
	}
	return len(s.told) > 0 || s.failures > 0 || s.list && u.runs(s.client)
}

// tellAll fails with the first notification that the subscriber doesn't take.
func (u *updates) tellAll(ctx context.Context, s *subscriber) error {
	u.mu.Lock()
	told, list, listed := maps.Clone(s.told), s.list, s.listed
	u.mu.Unlock()
	for address, known := range told {
		if err := u.tellOf(ctx, s, address, known); err != nil {
			return err
		}
	}
	if !list || ctx.Err() != nil {
		return nil
	}
	now := listState(u.own(s.client))
	if now == listed {
		return nil
	}
	err := s.send(mcp.MethodNotificationResourcesListChanged, nil)
	if err == nil {
		u.mu.Lock()
		defer u.mu.Unlock()
		s.listed = now
	}
	return err
}

// tellOf sends one subscriber that one resource has changed, if so. One that is
// gone for good is told of once. An error is the stream's.
func (u *updates) tellOf(ctx context.Context, s *subscriber, address, known string) error {
	if ctx.Err() != nil { // a slow look before has used up the time
		return nil
	}
	now, gone := u.state(ctx, s.client, address)
	if ctx.Err() != nil { // which says nothing of the resource
		return nil
	}
	if gone != nil {
		now = gone.Error()
	}
	if now == known {
		return nil
	}
	if err := s.send(mcp.MethodNotificationResourceUpdated, map[string]any{"uri": address}); err != nil {
		return err
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	if _, still := s.told[address]; still {
		s.told[address] = now
	}
	if a, _ := uri.Parse(address); gone != nil && a.Kind != uri.File && a.Kind != uri.Directory {
		delete(s.told, address)
	}
	return nil
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
		f, err := u.library.Stat(ctx, client, a.Interpreter, answer.OrDefault(a.Name, "."))
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
