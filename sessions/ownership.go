package sessions

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"understudy/internal/phrase"
)

// Anonymous is a caller that can't be told from others: it owns nothing. Each
// of its runs that names no session makes one, and whoever shows a session's
// id, which can't be guessed, reaches it.
const Anonymous Client = ""

// Keyed reports whether a session's id is a key for this client: over the
// network without authentication, whoever shows an id reaches the session, so
// ids can't be guessed. The one client of stdio, those of understudy connect and an
// authenticated principal reach what is theirs whatever its id is. A name that is none of these is taken
// to be keyed, the safe side.
func (c Client) Keyed() bool {
	for _, prefix := range notKeyed {
		if strings.HasPrefix(string(c), prefix) {
			return false
		}
	}
	return c != stdioClient && c != Operator
}

// How packages transport and connect name the clients that are not keyed.
const stdioClient = "stdio"

var notKeyed = []string{"principal:", "connect:", "shared:"}

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

// inflightCall is one call of a client that may leave meanwhile.
type inflightCall struct{ end context.CancelCauseFunc }

// lateCalls is how long a client that left is remembered: as long as a call of its may still
// be on its way; of a flood of them only the last are.
const (
	lateCalls      = 10 * time.Minute
	mostDepartures = 1024
)

// departures remembers the clients that left, and when. Names of MCP sessions don't come back;
// a process may, if it was taken for ended, and a user.
type departures map[Client]time.Time

func (d departures) add(client Client) {
	maps.DeleteFunc(d, func(_ Client, left time.Time) bool { return time.Since(left) > lateCalls })
	d[client] = time.Now()
	if len(d) > mostDepartures {
		delete(d, slices.MinFunc(slices.Collect(maps.Keys(d)), func(a, b Client) int { return d[a].Compare(d[b]) }))
	}
}

// follow returns a context that ends with the call's own, or when its client
// leaves: at once if it has and can't come back.
func (m *Manager) follow(ctx context.Context, client Client) (context.Context, context.CancelFunc) {
	if client == Anonymous {
		return ctx, func() {}
	}
	ctx, end := context.WithCancelCause(ctx)
	here := &inflightCall{end}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.calls[client] == nil {
		m.calls[client] = map[*inflightCall]bool{}
	}
	m.calls[client][here] = true
	if isLocal(string(client)) {
		delete(m.departures, client)
	}
	if _, left := m.departures[client]; left {
		end(leaving{})
	}
	return ctx, func() {
		m.depart(client, here)
		end(nil)
	}
}

// depart notes that a call is over.
func (m *Manager) depart(client Client, here *inflightCall) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.calls[client], here)
	if len(m.calls[client]) == 0 {
		delete(m.calls, client)
	}
}

// Leave says that a client's connection is gone. With bye it said so itself,
// and its sessions end, unless their ids are keys: a client that opens a connection
// for each call says goodbye after each. Those, and all without bye, belong to nobody
// until someone shows their id, and end when nobody does; what runs in them goes on,
// or is interrupted if the operator wants that. Its calls end, and leave the results
// to whoever asks for them. For a client that can come back under its name
// Leave is not to be called.
func (m *Manager) Leave(ctx context.Context, client Client, bye bool) {
	if client == Anonymous {
		return
	}
	m.dismiss(client) // first: no result may go to a call of its, and none may make or take a session
	if bye && !client.Keyed() {
		m.EndClient(ctx, client)
		return
	}
	for _, s := range m.disown(client, bye) {
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
// from then on, nor do those that are still to come.
func (m *Manager) dismiss(client Client) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.departures.add(client)
	for call := range m.calls[client] {
		call.end(leaving{})
	}
}

// disown makes the client's sessions nobody's, and returns them. One that is not
// claimed lives shorter; where the connection was lost somebody may come back for it.
func (m *Manager) disown(client Client, bye bool) []*Session {
	m.mu.Lock()
	defer m.mu.Unlock()
	var left []*Session
	for s := range m.owned[client] {
		left = append(left, s)
		m.pass(s, Anonymous)
		s.claimed, s.abandoned = s.claimed || !bye, true
		s.touch()
	}
	return left
}

// reach returns the session of that id if the client may use it: where ids are keys
// whoever shows it may, whoever owns it. The caller holds mu.
func (m *Manager) reach(client Client, id string) *Session {
	if s := m.sessions[id]; s != nil && (s.client == client || s.client == Anonymous || client == Operator || s.client.Keyed() && client.Keyed()) {
		return s
	}
	return m.named(client, id)
}

// claim notes that somebody has come back for a session, and makes nobody's the
// client's, if it may have another, unless the call is over. One that has an owner
// keeps it. To look at a session is not to claim it: who looks may have left. The
// caller holds mu.
func (m *Manager) claim(ctx context.Context, client Client, s *Session) error {
	switch {
	case client == Operator:
		return nil
	case s.client != Anonymous:
		s.claimed = true
		return nil
	}
	if err := cancelled(ctx); err != nil {
		return err
	}
	s.claimed, s.abandoned = true, false
	if client != Anonymous && !m.isFull(client, client.party()) {
		m.pass(s, client)
		if isLocal(string(client)) {
			s.comesFrom = client.party()
		}
	}
	return nil
}

// cancelled returns an error when the call was cancelled or its client has left.
func cancelled(ctx context.Context) error {
	if err := ctx.Err(); errors.Is(err, context.Canceled) {
		return callerGone(ctx, err)
	}
	return nil
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

// Show describes the one session that the caller names. Its errors are CodeInvalid and
// CodeNotFound.
func (m *Manager) Show(ctx context.Context, client Client, id string) (Listing, error) {
	ctx, depart := m.follow(ctx, client)
	defer depart()
	s, err := m.known(ctx, client, id)
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

// defaultKey is whose default session is meant: a client's, or that of one of its
// conversations.
type defaultKey struct {
	client       Client
	conversation string
}

// defaultOf says whose default session is meant by a call that names none.
func (m *Manager) defaultOf(ctx context.Context, client Client) defaultKey {
	if m.options.Conversation == nil {
		return defaultKey{client: client}
	}
	return defaultKey{client, m.options.Conversation(ctx)}
}

// defaultKey says whose default the session is, if it is one. The caller holds the
// Manager's mu.
func (s *Session) defaultKey() defaultKey { return defaultKey{s.client, s.conversation} }

// needsHandle reports whether each call of the client's must name a session.
func (m *Manager) needsHandle(client Client) bool {
	return m.options.NeedsHandle != nil && m.options.NeedsHandle(client)
}

// errNeedsHandle says to such a client what to do.
func errNeedsHandle() *Error {
	return Errorf(CodeInvalid, "interpreter_id is required: this server has no default interpreters (--default-interpreter none). Make one with manage_interpreters, operation \"create\", and pass the interpreter_id that it answers with every call")
}

// errNoDefaultInterpreter says to a caller that can't have a default session what to do.
func errNoDefaultInterpreter() *Error {
	return Errorf(CodeNotFound, "interpreter_id is required: this connection has no default interpreter. Pass the interpreter_id that an earlier answer named; run_python_code without one makes a new interpreter and names it")
}

// Operator is the person whose server it is, at a prompt beside the agent. It sees
// and uses every session and owns none. What it runs is its own: an agent's wait
// returns no result of it, and its failures are not the agent's. The next answer
// to the session's owner tells that it was there.
const Operator Client = "operator"

// needsID says that the operator has no session of its own.
func needsID() *Error {
	return Errorf(CodeInvalid, "interpreter_id is required: the operator has no interpreter of its own")
}

// visible returns the sessions that the client's list shows.
func (m *Manager) visible(client Client) []*Session {
	if client != Operator {
		return m.ownedBy(client)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	all := make([]*Session, 0, len(m.sessions))
	for _, s := range m.sessions {
		all = append(all, s)
	}
	return all
}

// visits are the operator's runs in a session that its owner has not heard of.
type visits struct {
	executions []int
	names      []string // that they have added, changed or removed
	incidents  []string // what became of the process
}

// add notes a run of the operator's.
func (v *visits) add(r *Result, died bool) {
	v.executions = append(v.executions, r.Execution)
	if r.Variables != nil {
		for _, name := range slices.Concat(r.Variables.Added, r.Variables.Changed, r.Variables.Removed) {
			if !slices.Contains(v.names, name) {
				v.names = append(v.names, name)
			}
		}
	}
	if died {
		v.incidents = append(v.incidents, fmt.Sprintf("execution %d %s; %s", r.Execution, r.death(), r.remainder()))
	}
}

// inWords tells of them in a note, if there were any.
func (v *visits) inWords() []string {
	if len(v.executions) == 0 {
		return nil
	}
	note := "meanwhile a person ran " + namesOf(v.executions) + " in this interpreter (understudy attach)"
	if len(v.names) > 0 {
		note += ", which added, changed or removed " + someOf(v.names, 20)
	}
	for _, incident := range v.incidents {
		note += "; " + incident
	}
	return []string{note}
}

// foreign says of an execution that another one than the caller started it, "" if
// the caller may wait for it. The caller holds the session's mu.
func (s *Session) foreign(operator bool) string {
	e := s.current
	switch {
	case e == nil || e.operator == operator:
		return ""
	case e.operator:
		return fmt.Sprintf("a person has been running execution %d in it for %s (understudy attach)", e.number, phrase.Duration(time.Since(e.started)))
	default:
		return fmt.Sprintf("the agent's execution %d has been running in it for %s", e.number, phrase.Duration(time.Since(e.started)))
	}
}
