package main

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"understudy/tools/answer"
)

// triedClients are the clients that make conformance has talk with the server, by name,
// as testdata/conformance/clients.json has them: for each way that they take the
// steps that did not simply go well.
type triedClients map[string]struct {
	Version string
	Ways    map[string]map[string]string
}

// remarks say what an outcome of a step means, in the order of the notes.
var remarks = []struct{ step, outcome, text string }{
	{"state", "by handle", "Every call is a client of its own: its variables stay for who passes the `interpreter_id` that the first answer named."},
	{"state", "no", "Every call starts a server, and nothing stays. `understudy connect` in its place keeps the variables."},
	{"figure", "as text", "Its model gets figures in base64, as part of the text."},
	{"six seconds", "by wait", "It calls itself what clients do that give up after five seconds, so a call that takes longer is answered `running` before, and operation `wait` brings the rest."},
	{"cancellation", "by interrupt", "It gives up a call without telling the server: the code runs on, until operation `interrupt`."},
}

// clientTable lists what is known of clients.
func clientTable() string {
	var b strings.Builder
	b.WriteString("| client | calls itself | characters of text | side of an image | bytes in all | record | why |\n|---|---|---|---|---|---|---|\n")
	for _, f := range answer.Profiles() {
		names := make([]string, len(f.Names))
		for i, name := range f.Names {
			names[i] = "`" + name + "`"
			if !f.Exact {
				names[i] = "`" + name + "`…"
			}
		}
		record := "no"
		if f.Record {
			record = "yes"
		}
		fmt.Fprintf(&b, "| %s | %s | %d | %d | %d | %s | %s |\n", f.Client, strings.Join(names, ", "), f.Text, f.Side, f.Bytes, record, cell(f.Why))
	}
	return b.String()
}

// conversationTable tells how clients got on with the server, by transport.
func conversationTable(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile("testdata/conformance/clients.json")
	if err != nil {
		t.Fatal(err)
	}
	all := triedClients{}
	if err := json.Unmarshal(text, &all); err != nil {
		t.Fatal(err)
	}
	columns := []string{"stdio", "stdio modern", "http", "http modern", "sse"}
	var b strings.Builder
	b.WriteString("| client | stdio | stdio, 2026-07-28 | HTTP | HTTP, 2026-07-28 | SSE |\n|---|---|---|---|---|---|\n")
	notes := noteNumbers(t, all)
	for _, name := range slices.Sorted(maps.Keys(all)) {
		fmt.Fprintf(&b, "| %s %s |", name, all[name].Version)
		for _, way := range columns {
			otherwise, takes := all[name].Ways[way]
			fmt.Fprintf(&b, " %s |", went(otherwise, takes, notes))
		}
		b.WriteString("\n")
	}
	b.WriteString("\n")
	for _, r := range remarks {
		if number := notes[r.step+" "+r.outcome]; number > 0 {
			fmt.Fprintf(&b, "- (%d) %s\n", number, r.text)
		}
	}
	return b.String()
}

// noteNumbers numbers the remarks that are needed, by step and outcome.
func noteNumbers(t *testing.T, all triedClients) map[string]int {
	t.Helper()
	needed := map[string]bool{}
	for _, one := range all {
		for _, otherwise := range one.Ways {
			for step, outcome := range otherwise {
				needed[step+" "+outcome] = true
			}
		}
	}
	numbers := map[string]int{}
	for _, r := range remarks {
		if needed[r.step+" "+r.outcome] {
			numbers[r.step+" "+r.outcome] = len(numbers) + 1
		}
	}
	if len(numbers) != len(needed) {
		t.Errorf("there are remarks on %v of %v", numbers, needed)
	}
	return numbers
}

// went is a cell: how the state was kept, and the numbers of the notes on all that
// went otherwise than it might.
func went(otherwise map[string]string, takes bool, notes map[string]int) string {
	if !takes {
		return "–"
	}
	text := "yes"
	if state, is := otherwise["state"]; is {
		text = state
	}
	var numbers []int
	for step, outcome := range otherwise {
		numbers = append(numbers, notes[step+" "+outcome])
	}
	slices.Sort(numbers)
	for _, number := range numbers {
		text += fmt.Sprintf(" (%d)", number)
	}
	return text
}
