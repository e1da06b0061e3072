package sessions

import (
	"context"
	"errors"
	"time"
)

// Anonymous is a caller that can't be told from others: it owns nothing. Each
// of its runs that names no session makes one, and whoever shows a session's
// id, which can't be guessed, reaches it.
const Anonymous Client = ""

// leaving is the end of the calls of a client that has left. Their executions
// are treated as the operator wished, and not as cancelled.
type leaving struct{}

func (leaving) Error() string { return "the client has left" }

// Disconnected marks the cause of a context that ended because the caller's
// connection did; a transport may have an error of its own that says so.
func (leaving) Disconnected() bool { return true }

// hasLeft reports whether a call ended because its client's connection did, and
// not because the client cancelled it.
func hasLeft(ctx context.Context) bool {
	var cause interface{ Disconnected() bool }
	return errors.As(context.Cause(ctx), &cause) && cause.Disconnected()
}

// attendance is one call of a client that may leave meanwhile.
type attendance struct{ end context.CancelCauseFunc }

// attend returns a context that ends with the call's own, or when its client
// leaves.
func (m *Manager) attend(ctx context.Context, client Client) (context.Context, context.CancelFunc) {
	if client == Anonymous {
		return ctx, func() {}
	}
	ctx, end := context.WithCancelCause(ctx)
	here := &attendance{end}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.calls[client] == nil {
		m.calls[client] = map[*attendance]bool{}
	}
	m.calls[client][here] = true
	return ctx, func() {
		m.depart(client, here)
		end(nil)
	}
}

// depart notes that a call is over.
func (m *Manager) depart(client Client, here *attendance) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.calls[client], here)
	if len(m.calls[client]) == 0 {
		delete(m.calls, client)
	}
}

// Leave says that a client's connection is gone. With bye it said so itself,
// and its sessions end. Without, they belong to nobody until someone shows
// their id, and end when nobody does; what runs in them goes on, or is
// interrupted if the operator wants that. Its calls end, and leave the results
// to whoever asks for them. For a client that can come back under its name
// Leave is not to be called.
func (m *Manager) Leave(ctx context.Context, client Client, bye bool) {
	if client == Anonymous {
		return
	}
	if bye {
		m.EndClient(ctx, client)
		return
	}
	m.dismiss(client) // first: no result may go to a call of its
	for _, s := range m.disown(client) {
		s.log.Info("the interpreter's client has left")
		e := s.runningNow()
		switch {
		case e == nil:
		case m.options.InterruptOnLeave:
			e.requestStop(stoppedByLeave)
		default:
			e.questions.withdraw()
		}
	}
}

// dismiss ends the calls of a client that has left: none of them takes a result
// from then on.
func (m *Manager) dismiss(client Client) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for call := range m.calls[client] {
		call.end(leaving{})
	}
}

// disown makes the client's sessions nobody's, and returns them.
func (m *Manager) disown(client Client) []*Session {
	m.mu.Lock()
	defer m.mu.Unlock()
	var left []*Session
	for s := range m.owned[client] {
		left = append(left, s)
		m.pass(s, Anonymous)
		s.named = true // somebody may know its id and has used it
		s.touch()
	}
	return left
}

// reach returns the session of that id if the client may use it. Nobody's
// session becomes its own, if it may have another. The caller holds mu.
func (m *Manager) reach(client Client, id string) *Session {
	s := m.sessions[id]
	switch {
	case s == nil || s.client != client && s.client != Anonymous:
		return nil
	case s.client == Anonymous:
		s.named = true
		if client != Anonymous && !m.isFull(client) {
			m.pass(s, client)
		}
	}
	return s
}

// isFull reports whether the client has as many sessions as one may have. The
// caller holds mu.
func (m *Manager) isFull(client Client) bool {
	most := m.options.MaxPerClient
	return most > 0 && len(m.owned[client]) >= most
}

// pass makes s another client's. The caller holds mu.
func (m *Manager) pass(s *Session, to Client) {
	m.remove(s)
	s.mu.Lock()
	s.client = to
	s.mu.Unlock()
	m.insert(s, false)
}

// owner returns whose the session is now.
func (s *Session) owner() Client {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.client
}

// touch notes that the session is in use now.
func (s *Session) touch() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.used = time.Now()
}

// Show describes the one session that the caller names.
func (m *Manager) Show(ctx context.Context, client Client, id string) (Listing, error) {
	s, err := m.known(client, id)
	if err != nil {
		return Listing{}, err
	}
	return m.inspect(ctx, []*Session{s})[0], nil
}

// discard ends a session that was made for a call whose caller will never learn
// its id.
func (m *Manager) discard(ctx context.Context, s *Session) {
	m.forget(s)
	s.end(context.WithoutCancel(ctx))
}

// homeless says to a caller that can't have a default session what to do.
func homeless() *Error {
	return Errorf(CodeNotFound, "interpreter_id is required: this connection has no default interpreter. Pass the interpreter_id that an earlier answer named; run_python_code without one makes a new interpreter and names it")
}
