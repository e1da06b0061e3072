package tools

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"understudy/sessions"
)

func named(names ...string) []sessions.Variable {
	all := make([]sessions.Variable, len(names))
	for i, name := range names {
		name, kind, _ := strings.Cut(name, ":")
		all[i] = sessions.Variable{Name: name, Type: kind, Repr: "1"}
	}
	return all
}

func TestMatch(t *testing.T) {
	names := sessions.Namespace{
		Variables: named("df:DataFrame", "df_clean:DataFrame", "x:int", "index:Int64Index"),
		Functions: []string{"df_load(int=1)", "f(df)", "async df_wait()"}, Classes: []string{"Frame"}, Imports: []string{"pd (pandas)", "df_tools"},
	}
	for asked, want := range map[string]string{
		"":          "df df_clean x index | df_load(int=1) f(df) async df_wait() | Frame | pd (pandas) df_tools",
		"df":        "df df_clean | df_load(int=1) async df_wait() |  | df_tools",
		"DF_*":      "df_clean | df_load(int=1) async df_wait() |  | df_tools",
		"frame":     "df df_clean |  | Frame | ",
		"*frame":    "df df_clean |  | Frame | ",
		"int":       "x index |  |  | ",
		"?":         "x | f(df) |  | ",
		"[dx]*":     "df df_clean x | df_load(int=1) async df_wait() |  | df_tools",
		"nothing":   " |  |  | ",
		"df_clean?": " |  |  | ",
	} {
		m, err := newMatch(asked)
		must(t, err)
		f := m.of(names)
		var found []string
		for _, v := range f.Variables {
			found = append(found, v.Name)
		}
		var groups []string
		for _, group := range [][]string{found, f.Functions, f.Classes, f.Imports} {
			groups = append(groups, strings.Join(group, " "))
		}
		got := strings.Join(groups, " | ")
		expect(t, got == want, "%q: %s; want %s", asked, got, want)
	}
}

func TestWhatIsSaidOfAMatch(t *testing.T) {
	m, err := newMatch("x*")
	must(t, err)
	names := sessions.Namespace{Variables: named("x1:int", "y:int"), LeftOut: 3}
	want := "1 of 5 variables:\nx1  int  1\n[of 5 variables only the first 2 were looked at]"
	r := described(names, m, nil, 1000)
	expect(t, r.text == want && r.record["left_out"] == nil, "%+v", r)
	r = described(sessions.Namespace{Variables: named("y:int"), LeftOut: 3}, m, nil, 1000)
	expect(t, strings.HasPrefix(r.text, "None of 4 variables matches \"x*\".\n[of 4 variables only the first 1 were looked at]"), "%+v", r.text)
	r = described(sessions.Namespace{Variables: named("y:int")}, m, nil, 1000)
	expect(t, r.text == `None of 1 variable matches "x*".`, "%+v", r.text)
}

// TestManyVariables: as many as the budget has room for, and the number of the rest.
func TestManyVariables(t *testing.T) {
	many := make([]sessions.Variable, 5000)
	for i := range many {
		many[i] = sessions.Variable{Name: fmt.Sprint("name", i), Type: "str", Repr: strings.Repeat("é", 400)}
	}
	for budget, want := range map[int]int{2000: 20, 40_000: mostVariables} {
		r := described(sessions.Namespace{Variables: many, LeftOut: 700}, match{}, nil, budget)
		shown := len(r.record["variables"].([]sessions.Variable))
		n := utf8.RuneCountInString(r.text)
		left := r.record["left_out"]
		expect(t, n <= budget && shown >= want && left == 5700-shown, "budget %d: %d characters, %d shown, %v left out", budget, n, shown, left)
		expect(t, strings.HasPrefix(r.text, "5700 variables:\nname0 ") && strings.Contains(r.text, "more left out; narrow the list with match"), "%s…", r.text[:100])
	}
}

// TestALongNameCostsItsOwnLine: the others are no wider for it.
func TestALongNameCostsItsOwnLine(t *testing.T) {
	all := []sessions.Variable{{Name: strings.Repeat("n", 75), Type: "int", Repr: "1"}}
	for i := range 150 {
		all = append(all, sessions.Variable{Name: fmt.Sprint("v", i), Type: "int", Repr: "1"})
	}
	r := described(sessions.Namespace{Variables: all}, match{}, nil, 4000)
	shown := len(r.record["variables"].([]sessions.Variable))
	expect(t, shown == len(all), "%d of %d are shown:\n%s", shown, len(all), r.text)
}

// TestFewVariablesHaveLongValues: the room for values is shared out.
func TestFewVariablesHaveLongValues(t *testing.T) {
	length := func(n int) int {
		all := make([]sessions.Variable, n)
		for i := range all {
			all[i] = sessions.Variable{Name: "x", Type: "str", Repr: strings.Repeat("v", 500)}
		}
		r := described(sessions.Namespace{Variables: all}, match{}, nil, 40_000)
		return strings.Count(strings.Split(r.text, "\n")[1], "v")
	}
	if few, some, many := length(3), length(40), length(3000); few != 500 || some != 200 || many != leastValue {
		t.Error(few, some, many)
	}
}

// TestColumnsOfAnyText: nothing breaks the lines.
func TestColumnsOfAnyText(t *testing.T) {
	names := sessions.Namespace{Variables: []sessions.Variable{
		{Name: "größe", Type: "int", Repr: "1"},
		{Name: strings.Repeat("n", 200), Type: strings.Repeat("T", 300), Size: 5 << 20, Repr: "a\tb\nc"},
		{Name: "b", Type: "A\nB", Shape: []int{3}, Repr: ""},
	}}
	r := described(names, match{}, nil, 4000)
	want := []string{
		"3 variables:",
		"größe  int                1",
		strings.Repeat("n", 60) + "…  " + strings.Repeat("T", 60) + "…  5.0 MiB  a b c",
		"b      A B (3,)",
	}
	got := strings.Split(r.text, "\n")
	expect(t, slices.Equal(got, want), "%q", got)
}

func TestLongLinesOfNames(t *testing.T) {
	names := make([]string, 1000)
	for i := range names {
		names[i] = fmt.Sprint("module", i)
	}
	m := &fakeManager{variables: func(context.Context, sessions.Client, string) (sessions.Namespace, []string, error) {
		return sessions.Namespace{Imports: names, Classes: []string{strings.Repeat("C", 5000)}}, nil, nil
	}}
	got := text(t, call(t, connect(t, "tester", m, Options{}), "manage_interpreters", `{"operation":"variables"}`))
	n := len(got)
	expect(t, n <= 2000 && strings.HasSuffix(got, " more") && strings.Contains(got, "classes: CCC"), "%d characters: %s", n, got)
}
