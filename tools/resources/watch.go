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
		u.looks <- struct{}{}
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

// tell sends a subscriber what it doesn't know. It reports whether to look again soon.
func (u *updates) tell(key any, s *subscriber) (restless bool) {
	u.mu.Lock()
	told, list, listed := maps.Clone(s.told), s.list, s.listed
	u.mu.Unlock()
	ctx, cancel := context.WithTimeout(s.life, lookTime)
	defer cancel()
	for address, known := range told {
		u.tellOf(ctx, key, s, address, known)
	}
	if list && ctx.Err() == nil {
		if now := listState(u.own(s.client)); now != listed && u.sent(key, s, mcp.MethodNotificationResourcesListChanged, nil) {
			u.mu.Lock()
			s.listed = now
			u.mu.Unlock()
		}
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	return len(s.told) > 0 || s.failures > 0 || list && u.runs(s.client)
}

// tellOf sends one subscriber that one resource has changed, if so. One that is
// gone for good is told of once.
func (u *updates) tellOf(ctx context.Context, key any, s *subscriber, address, known string) {
	now, err := u.state(ctx, s.client, address)
	if ctx.Err() != nil { // which says nothing of the resource
		return
	}
	if err != nil {
		now = err.Error()
	}
	if now == known || !u.sent(key, s, mcp.MethodNotificationResourceUpdated, map[string]any{"uri": address}) {
		return
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	if _, still := s.told[address]; still {
		s.told[address] = now
	}
	if a, _ := uri.Parse(address); err != nil && a.Kind != uri.File && a.Kind != uri.Directory {
		delete(s.told, address)
	}
}

// sent reports whether a notification went out.
func (u *updates) sent(key any, s *subscriber, method string, params map[string]any) bool {
	err := s.send(method, params)
	u.mu.Lock()
	defer u.mu.Unlock()
	if err != nil {
		u.fail(key, s, err)
		return false
	}
	s.failures = 0
	return true
}

// fail counts that a subscriber took nothing. Who takes nothing for too long is forgotten.
// The caller holds mu.
func (u *updates) fail(key any, s *subscriber, err error) {
	if s.failures++; s.failures == patienceWith {
		u.Logger.Info("a subscriber takes no notifications and is forgotten", "error", err)
		u.forget(key, s)
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
