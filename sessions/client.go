package sessions

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"regexp"
	"strconv"
	"strings"
)

// keyLength is how many characters of an id are its random part: 128 bits in hex.
const keyLength = 32

// newID returns the id of a new session: its name, if it has one, a dash, and 128
// random bits. It is unique in a journal that many servers share, and can't be
// guessed.
func newID(name string) string {
	var b [keyLength / 2]byte
	_, _ = rand.Read(b[:]) // never fails, see crypto/rand
	key := hex.EncodeToString(b[:])
	if name == "" {
		return key
	}
	return name + "-" + key
}

// keyOf is the random part of an id. Directories are named by it: what a model
// chose never gets into a path.
func keyOf(id string) string { return id[max(0, len(id)-keyLength):] }

// NameOf is the name in an id, "py1" of "py1-5f3a…", or the whole id if there is none
// in it.
func NameOf(id string) string {
	if name := strings.TrimSuffix(id, "-"+keyOf(id)); hasKey.MatchString(id) {
		return name
	}
	return id
}

// Handle is what the client calls the session of that id: the id itself if that is its
// key, else the name.
func (c Client) Handle(id string) string {
	if c.Keyed() {
		return id
	}
	return NameOf(id)
}

var (
	hasKey     = regexp.MustCompile(`(^|-)[0-9a-f]{32}$`)
	numbered   = regexp.MustCompile(`^py[0-9]+$`)
	chosenName = regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9_.-]{0,63}$`)
)

// checkName refuses a name for a new session that the client can't have.
func checkName(name string) error {
	switch {
	case name == "":
		return nil
	case !chosenName.MatchString(name):
		return Errorf(CodeInvalid, "argument \"interpreter_id\" can't be the name of a new interpreter: %.80q; take up to 64 letters, digits, _, - and ., the first a letter, a digit or _, or leave it out", name)
	case numbered.MatchString(name), hasKey.MatchString(name), name == "default":
		return Errorf(CodeInvalid, "argument \"interpreter_id\" can't be %q for a new interpreter: names like this one are given by the server; choose a word, as \"analysis\", or leave it out", name)
	}
	return nil
}

// name returns the name of a new session for the client, who may have chosen one. Who
// is keyed has one only then. The caller holds mu.
func (m *Manager) name(client Client, chosen string) (string, error) {
	switch {
	case chosen != "" && m.named(client, chosen) != nil:
		return "", Errorf(CodeInvalid, "argument \"interpreter_id\": you have an interpreter %q already; pass it to run_python_code to go on in it, or choose another name", chosen)
	case chosen != "" || client.Keyed():
		return chosen, nil
	}
	m.numbers[client]++ // a number never comes back, so that a late call meets no other session
	return "py" + strconv.Itoa(m.numbers[client]), nil
}

// named finds the client's own session of that name. The caller holds mu.
func (m *Manager) named(client Client, name string) *Session {
	if client == Anonymous { // what belongs to nobody has no name that leads to it
		return nil
	}
	for s := range m.owned[client] {
		if NameOf(s.id) == name {
			return s
		}
	}
	return nil
}

// party is who a client is without the name that it gives itself: of a process, or a
// user of this machine, that is one for all its names.
func (c Client) party() string {
	if isLocal(string(c)) {
		party, _, _ := strings.Cut(string(c), " ")
		return party
	}
	return string(c)
}

// isLocal reports whether an origin is a process or a user of this machine, and no place
// that unrelated clients may share.
func isLocal(origin string) bool {
	return strings.HasPrefix(origin, "process:") || strings.HasPrefix(origin, "user:")
}

// originOf returns where a client calls from: what tells programs without
// authentication from each other where they can be many clients. The caller does not
// hold mu: to find a process may take milliseconds.
func (m *Manager) originOf(ctx context.Context, client Client) string {
	if client != Anonymous && client.Keyed() && m.options.Origin != nil && !m.needsHandle(client) {
		if origin := m.options.Origin(ctx); origin != "" {
			return origin
		}
	}
	return client.party()
}

// counts reports whether the session counts for the limit of the client that calls from
// there: its own, and those of its process's other names and MCP sessions. The caller
// holds mu.
func (m *Manager) counts(s *Session, client Client, origin string) bool {
	return s.client == client || s.client != Anonymous && s.client.Keyed() && isLocal(origin) && s.comesFrom == origin
}

// isFull reports whether the client has as many sessions as one may have. The caller
// holds mu.
func (m *Manager) isFull(client Client, origin string) bool {
	most := m.options.MaxPerClient
	if most <= 0 {
		return false
	}
	n := 0
	for _, s := range m.sessions {
		if m.counts(s, client, origin) {
			n++
		}
	}
	return n >= most
}

// akin returns the client's sessions and, of a process without authentication, those of
// its other names and MCP sessions, which may have ended; the oldest first. Clients that
// must name a session may be many people behind one process: none learns another's ids.
func (m *Manager) akin(ctx context.Context, client Client) []*Session {
	own := m.ownedBy(client)
	origin := m.originOf(ctx, client)
	if strings.HasPrefix(origin, "process:") && !m.needsHandle(client) {
		m.mu.Lock()
		for _, s := range m.sessions {
			if s.client != client && s.client.Keyed() && s.comesFrom == origin {
				own = append(own, s)
			}
		}
		m.mu.Unlock()
	}
	sortByAge(own)
	return own
}

// session finds the named session of the client, or finds or makes its default;
// for Anonymous, who has no default, it makes another one.
func (m *Manager) session(ctx context.Context, client Client, id string) (*Session, error) {
	if id != "" {
		return m.known(ctx, client, id)
	}
	if m.needsHandle(client) {
		return nil, errNeedsHandle()
	}
	m.mu.Lock()
	s := m.defaults[m.defaultOf(ctx, client)]
	if s != nil {
		s.claimed = true
	}
	m.mu.Unlock()
	if s != nil {
		return s, nil
	}
	return m.add(ctx, client, birth{isDefault: client != Anonymous})
}

// known finds a session for a call that names it; "" is the client's default.
// Nobody's session becomes its own. Another client's is not found, as if there
// were none.
func (m *Manager) known(ctx context.Context, client Client, id string) (*Session, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	s, err := m.find(m.defaultOf(ctx, client), id)
	if err == nil {
		err = m.claim(ctx, client, s)
	}
	return s, err
}

// seen is known for who only looks.
func (m *Manager) seen(client Client, id string) (*Session, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.find(defaultKey{client: client}, id)
}

// find is for a caller that holds mu.
func (m *Manager) find(of defaultKey, id string) (*Session, error) {
	if id == "" {
		return m.defaultSession(of)
	}
	if s := m.reach(of.client, id); s != nil {
		return s, nil
	}
	if why := m.endings.why(of.client, id); why != "" {
		return nil, ended(id, why)
	}
	lost := ""
	if m.options.Tenancy != nil {
		_, lost = m.options.Tenancy()
	}
	if lost != "" {
		return nil, Errorf(CodeNotFound, "Interpreter %.64s not found: %s", id, lost)
	}
	return nil, notFound(id)
}

// defaultSession returns the client's default session. The caller holds mu.
func (m *Manager) defaultSession(of defaultKey) (*Session, error) {
	if of.client == Operator {
		return nil, needsID()
	}
	if m.needsHandle(of.client) {
		return nil, errNeedsHandle()
	}
	if of.client == Anonymous {
		return nil, errNoDefaultInterpreter()
	}
	if s := m.defaults[of]; s != nil {
		return s, nil
	}
	if farewell := m.endings.farewell(of); farewell != "" {
		return nil, Errorf(CodeNotFound, "%s", farewell)
	}
	return nil, Errorf(CodeNotFound, "there is no interpreter yet; run_python_code makes one")
}

func notFound(id string) *Error {
	return Errorf(CodeNotFound, "Interpreter %.64s not found; manage_interpreters with operation \"list\" shows yours, \"create\" makes a new one", id)
}
