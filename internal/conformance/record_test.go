package conformance

import (
	"encoding/json"
	"errors"
	"maps"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
)

// clientsFile has how the conversations of all clients went when that was last
// written down.
const clientsFile = "clients.json"

// conversation is what a client said of itself: one line of JSON for its version,
// and one for each step.
type conversation struct {
	version string
	steps   []taken
}

// taken is how a step went: "yes", or what took the place of it.
type taken struct{ Step, Outcome, Failed string }

// readConversation reads what a client has printed. The error is of what is no
// such line.
func readConversation(text string) (conversation, error) {
	var talk conversation
	var err error
	for line := range strings.Lines(text) {
		var said struct {
			taken
			Version string
		}
		err = errors.Join(err, json.Unmarshal([]byte(line), &said))
		switch {
		case said.Version != "":
			talk.version = said.Version
		case said.Step != "":
			talk.steps = append(talk.steps, said.taken)
		}
	}
	return talk, err
}

// took are the steps that went well.
func (c conversation) took() (names []string) {
	for _, s := range c.steps {
		if s.Failed == "" {
			names = append(names, s.Step)
		}
	}
	return names
}

// otherwise are the steps that went in another way than "yes", and in which.
func (c conversation) otherwise() map[string]string {
	all := map[string]string{}
	for _, s := range c.steps {
		if s.Outcome != "yes" {
			all[s.Step] = s.Outcome
		}
	}
	return all
}

// tried is what is written down of a client.
type tried struct {
	Version string                       `json:"version"`
	Ways    map[string]map[string]string `json:"ways"` // of each the steps that went otherwise than "yes"
}

// record is what is written down, and with -update what is to be.
type record struct {
	committed map[string]tried

	mu  sync.Mutex
	now map[string]tried
}

// newRecord reads what is written down. With -update it is written anew when the
// test has ended, without clients and ways that are no more.
func newRecord(t *testing.T) *record {
	t.Helper()
	r := &record{committed: map[string]tried{}, now: map[string]tried{}}
	readJSON(t, clientsFile, &r.committed)
	if !*update {
		return r
	}
	for _, c := range clients {
		for _, way := range c.ways {
			if was := r.committed[c.name]; was.Ways[way] != nil {
				r.keep(c.name, way, was.Version, was.Ways[way])
			}
		}
	}
	t.Cleanup(func() { writeJSON(t, clientsFile, r.now) })
	return r
}

func (r *record) keep(name, way, version string, otherwise map[string]string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	one := r.now[name]
	if one.Ways == nil {
		one.Ways = map[string]map[string]string{}
	}
	one.Version, one.Ways[way] = version, otherwise
	r.now[name] = one
}

// check fails the test if a conversation did not go as is written down.
func (r *record) check(t *testing.T, name, way string, talk conversation) {
	t.Helper()
	if *update {
		r.keep(name, way, talk.version, talk.otherwise())
		return
	}
	const remedy = "; if that is as it should be, run make conformance UPDATE=1 and make update"
	want := r.committed[name]
	expect(t, talk.version == want.Version, "this is version %s, and %s has %q%s", talk.version, clientsFile, want.Version, remedy)
	got := talk.otherwise()
	if was := want.Ways[way]["cancellation"]; was != "" && got["cancellation"] == "" {
		// A client that trips over its own closing may or may not have told the server
		// before: that it did this time is better than what is written down.
		got["cancellation"] = was
	}
	if !maps.Equal(got, want.Ways[way]) {
		t.Errorf("it went %v, and %s has %v%s", got, clientsFile, want.Ways[way], remedy)
	}
}

// TestRecord: what is written down is of all clients and ways, and of no others.
func TestRecord(t *testing.T) {
	committed := map[string]tried{}
	readJSON(t, clientsFile, &committed)
	ways := map[string][]string{}
	for _, c := range clients {
		ways[c.name] = append(ways[c.name], c.ways...)
	}
	all := maps.Clone(ways)
	for name := range committed {
		all[name] = ways[name]
	}
	for name, want := range all {
		slices.Sort(want)
		got := slices.Sorted(maps.Keys(committed[name].Ways))
		expect(t, slices.Equal(got, want), "%s has %q over %q, and it is tried over %q", clientsFile, name, got, want)
	}
}

func readJSON(t *testing.T, name string, into any) {
	t.Helper()
	text, err := os.ReadFile(testdata(name))
	if os.IsNotExist(err) && *update {
		return
	}
	if err == nil {
		err = json.Unmarshal(text, into)
	}
	insist(t, err == nil, "%s: %v", name, err)
}

func writeJSON(t *testing.T, name string, what any) {
	t.Helper()
	text, err := json.MarshalIndent(what, "", "  ")
	must(t, err)
	must(t, os.WriteFile(testdata(name), append(text, '\n'), 0o600))
}
