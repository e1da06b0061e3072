package main

import (
	"encoding/json"
	"fmt"
	"strings"
	"sync"
)

// trailLength is how many calls of a session are shown when it goes wrong.
const trailLength = 24

// trail is a session's last calls as they were sent and answered.
type trail struct {
	mu      sync.Mutex
	entries []*trailEntry
}

type trailEntry struct {
	trail          *trail
	call, response string
}

func (t *trail) sent(tool string, args arguments) *trailEntry {
	text, err := json.Marshal(args)
	if err != nil {
		text = []byte(err.Error())
	}
	e := &trailEntry{trail: t, call: tool + " " + string(text)}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.entries = append(t.entries, e)
	if over := len(t.entries) - trailLength; over > 0 {
		t.entries = append([]*trailEntry(nil), t.entries[over:]...)
	}
	return e
}

func (e *trailEntry) answered(a answer) {
	if a.record.Interpreters != nil { // most of them are others'
		e.respond("a list: " + shorten(a.text))
		return
	}
	facts, err := json.Marshal(a.record)
	if err != nil {
		facts = []byte(err.Error())
	}
	e.respond(fmt.Sprintf("after %s, refused %t: %s\n    %s", a.took, a.refused,
		shorten(strings.ReplaceAll(a.text, "\n", "\n    ")), shorten(string(facts))))
}

func (e *trailEntry) failed(err error) { e.respond(err.Error()) }

func (e *trailEntry) respond(text string) {
	e.trail.mu.Lock()
	defer e.trail.mu.Unlock()
	e.response = text
}

// follow begins the trail of a branch with that of the session it came from.
func (t *trail) follow(original *trail) {
	original.mu.Lock()
	defer original.mu.Unlock()
	t.entries = append(t.entries, original.entries...)
}

func (t *trail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	var b strings.Builder
	for _, e := range t.entries {
		fmt.Fprintf(&b, "→ %s\n", shorten(e.call))
		if e.response == "" {
			b.WriteString("← no answer yet\n")
		} else {
			fmt.Fprintf(&b, "← %s\n", e.response)
		}
	}
	return b.String()
}
