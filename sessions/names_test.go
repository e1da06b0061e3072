package sessions

import (
	"regexp"
	"strings"
	"testing"
)

const stdio, anna, bert = Client("stdio"), Client("principal:anna"), Client("principal:bert")

func create(t *testing.T, m *Manager, client Client, name string) string {
	t.Helper()
	l, err := m.Create(t.Context(), client, CreateRequest{InterpreterID: name})
	if err != nil {
		t.Fatal(err)
	}
	return l.ID
}

func runAs(t *testing.T, m *Manager, client Client, r RunRequest) *Result {
	t.Helper()
	result, err := m.Run(t.Context(), client, r)
	if err != nil {
		t.Fatal(err)
	}
	return result
}

func TestNamesAreShortWhereTheyAreNoKeys(t *testing.T) {
	m := newTestManager(t, echoes(), nil)
	defer m.Close(t.Context())
	for i, want := range []string{"py1", "py2", "analysis", "py3"} {
		chosen := ""
		if want == "analysis" {
			chosen = want
		}
		if got := create(t, m, anna, chosen); got != want {
			t.Errorf("session %d is called %q, want %q", i, got, want)
		}
	}
	if err := m.Delete(t.Context(), anna, "py3"); err != nil {
		t.Fatal(err)
	}
	if got := create(t, m, anna, ""); got != "py4" {
		t.Errorf("after py3 was deleted the next one is called %q: a late call could meet it", got)
	}
}

func TestSameNameOfTwoClientsIsTwoSessions(t *testing.T) {
	m := newTestManager(t, echoes(), nil)
	defer m.Close(t.Context())
	for _, client := range []Client{anna, bert} {
		create(t, m, client, "analysis")
		if result := runAs(t, m, client, RunRequest{InterpreterID: "analysis", Code: "x = 1"}); result.InterpreterID != "analysis" {
			t.Errorf("%s got an answer of %q", client, result.InterpreterID)
		}
	}
	all, err := m.List(t.Context(), anna)
	if err != nil || len(all) != 1 || all[0].Executions != 1 {
		t.Errorf("anna sees %+v, %v", all, err)
	}
	if err := m.Delete(t.Context(), bert, "analysis"); err != nil {
		t.Fatal(err)
	}
	runAs(t, m, anna, RunRequest{InterpreterID: "analysis", Code: "x"})
	_, err = m.Run(t.Context(), bert, RunRequest{InterpreterID: "analysis", Code: "x"})
	if CodeOf(err) != CodeNotFound {
		t.Errorf("bert's is deleted, but: %v", err)
	}
}

func TestNameOfKeyedClientIsInItsKey(t *testing.T) {
	m := newTestManager(t, echoes(), nil)
	defer m.Close(t.Context())
	key := create(t, m, me, "analysis")
	if !regexp.MustCompile(`^analysis-[0-9a-f]{32}$`).MatchString(key) {
		t.Fatalf("the session is called %q", key)
	}
	for _, id := range []string{key, "analysis"} {
		if result := runAs(t, m, me, RunRequest{InterpreterID: id, Code: "x"}); result.InterpreterID != key {
			t.Errorf("as %q it answers as %q", id, result.InterpreterID)
		}
	}
	for _, stranger := range []Client{other, Anonymous} {
		if _, err := m.Run(t.Context(), stranger, RunRequest{InterpreterID: "analysis", Code: "x"}); CodeOf(err) != CodeNotFound {
			t.Errorf("%q reached it by its name: %v", stranger, err)
		}
	}
}

func TestNamesThatNobodyGets(t *testing.T) {
	m := newTestManager(t, echoes(), nil)
	defer m.Close(t.Context())
	create(t, m, stdio, "taken")
	for name, why := range map[string]string{
		"taken":                    "already",
		"py7":                      "given by the server",
		strings.Repeat("0", 32):    "given by the server",
		"x-" + newID(""):           "given by the server",
		"my analysis":              "letters",
		"../up":                    "letters",
		".hidden":                  "letters",
		strings.Repeat("long", 17): "letters",
		"größe":                    "letters",
	} {
		_, err := m.Create(t.Context(), stdio, CreateRequest{InterpreterID: name})
		if CodeOf(err) != CodeInvalid || !strings.Contains(err.Error(), `"interpreter_id"`) || !strings.Contains(err.Error(), why) {
			t.Errorf("%q: %v", name, err)
		}
	}
}

func TestNameLeadsToNothingOfAnothers(t *testing.T) {
	m := newTestManager(t, echoes(), nil)
	defer m.Close(t.Context())
	create(t, m, anna, "analysis")
	m.mu.Lock()
	var id string
	for each := range m.sessions {
		id = each
	}
	m.mu.Unlock()
	for _, stranger := range []Client{bert, me, Anonymous} {
		for _, given := range []string{"analysis", id} {
			if _, err := m.Run(t.Context(), stranger, RunRequest{InterpreterID: given, Code: "x"}); CodeOf(err) != CodeNotFound {
				t.Errorf("%q reached anna's session by %q: %v", stranger, given, err)
			}
		}
	}
}

func TestEndedSessionIsToldByItsName(t *testing.T) {
	m := newTestManager(t, echoes(), func(o *Options) { o.MaxPerClient, o.EndOldest = 1, true })
	defer m.Close(t.Context())
	runAs(t, m, anna, RunRequest{Code: "x"})
	create(t, m, anna, "analysis")
	_, err := m.Run(t.Context(), anna, RunRequest{InterpreterID: "py1", Code: "x"})
	if CodeOf(err) != CodeNotFound || !strings.Contains(err.Error(), "py1 was ended to make room") {
		t.Error(err)
	}
}

func TestNamesInIDs(t *testing.T) {
	key := newID("")
	for id, want := range map[string]string{
		key: key, "py1-" + key: "py1", "a-b-" + key: "a-b", "py1": "py1", "": "", "-" + key: "", "x" + key: "x" + key,
	} {
		if got := NameOf(id); got != want {
			t.Errorf("the name in %q is %q, want %q", id, got, want)
		}
	}
}
