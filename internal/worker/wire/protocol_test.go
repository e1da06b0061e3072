package wire

import (
	"testing"

	"understudy/sessions"
)

// TestJudgedCode: what was judged runs, and what was written is told of.
func TestJudgedCode(t *testing.T) {
	m := NewRun(sessions.Request{Code: "x?", Judged: sessions.Judged{Source: "f()\n", Notes: []string{"mended"}}})
	expect(t, m.Code == "f()\n" && m.Raw == "x?" && m.Judged && len(m.Notes) == 1, "%+v", m)
	m = NewRun(sessions.Request{Code: "x", Judged: sessions.Judged{Source: "x"}})
	expect(t, m.Code == "x" && m.Raw == "" && m.Judged, "%+v", m)
	if m = NewRun(sessions.Request{Code: "x"}); m.Code != "x" || m.Judged {
		t.Errorf("%+v", m)
	}
}
