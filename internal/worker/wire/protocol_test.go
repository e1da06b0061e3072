package wire

import (
	"testing"

	"understudy/sessions"
)

// TestJudgedCode: what was judged runs, and what was written is told of.
func TestJudgedCode(t *testing.T) {
	m := NewRun(sessions.Request{Code: "x?", Judged: sessions.Judged{Source: "f()\n", Notes: []string{"mended"}}})
	if m.Code != "f()\n" || m.Raw != "x?" || !m.Judged || len(m.Notes) != 1 {
		t.Errorf("%+v", m)
	}
	m = NewRun(sessions.Request{Code: "x", Judged: sessions.Judged{Source: "x"}})
	if m.Code != "x" || m.Raw != "" || !m.Judged {
		t.Errorf("%+v", m)
	}
	if m = NewRun(sessions.Request{Code: "x"}); m.Code != "x" || m.Judged {
		t.Errorf("%+v", m)
	}
}
