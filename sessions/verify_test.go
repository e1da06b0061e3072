package sessions

import (
	"context"
	"fmt"
	"testing"
)

func TestVerifierRefusesBeforeAnythingRuns(t *testing.T) {
	starter := echoes()
	m := newTestManager(t, starter, func(o *Options) { o.Verifier = refuser{} })
	defer m.Close(t.Context())
	_, err := m.Run(t.Context(), me, RunRequest{Code: "import os"})
	wantCode(t, err, CodeRefused, "line 1")
	if n := len(starter.started()); n != 0 {
		t.Errorf("%d workers for code that may not run", n)
	}
}

func TestRefusedCodeLeavesNoTrace(t *testing.T) {
	starter, rules := echoes(), &rules{}
	m := newTestManager(t, starter, func(o *Options) { o.Verifier = rules })
	defer m.Close(t.Context())
	first := mustRun(t, m, RunRequest{Code: "x"})
	rules.answer = Errorf(CodeRefused, "line 1")
	for _, r := range []RunRequest{{Code: "y"}, {Code: "y", Reset: true}, {Kind: RunsCommand, Code: "y"}} {
		_, err := m.Run(t.Context(), me, r)
		wantCode(t, err, CodeRefused, "line 1")
	}
	if _, err := m.Run(t.Context(), Anonymous, RunRequest{Code: "y"}); CodeOf(err) != CodeRefused {
		t.Error(err)
	}
	rules.answer = nil
	next := mustRun(t, m, RunRequest{Code: "z"})
	if next.Execution != first.Execution+1 || next.InterpreterID != first.InterpreterID || len(starter.started()) != 1 {
		t.Errorf("execution %d follows %d; %d workers were started", next.Execution, first.Execution, len(starter.started()))
	}
	if got := rules.asked; len(got) != 6 || got[3].kind != RunsCommand || got[3].client != me || got[4].client != Anonymous || got[4].code != "y" {
		t.Errorf("it was asked %+v", got)
	}
	if stats := m.Stats(t.Context()); stats.Sessions != 1 {
		t.Errorf("%d sessions are left", stats.Sessions)
	}
}

func TestCodeThatIsNoPython(t *testing.T) {
	var requests []Request
	m := newTestManager(t, workerThat(func(_ *fakeWorker, r Request, _ Sink) (Outcome, error) {
		requests = append(requests, r)
		return Outcome{OK: true}, nil
	}), func(o *Options) { o.Verifier = &rules{answer: fmt.Errorf("%w: line 1", ErrSyntax)} })
	defer m.Close(t.Context())
	mustRun(t, m, RunRequest{Code: "x ="})
	m.options.Verifier = nil
	mustRun(t, m, RunRequest{Code: "x"})
	if !requests[0].CompileOnly || requests[1].CompileOnly {
		t.Errorf("%+v", requests)
	}
}

func TestWhatWasJudgedRuns(t *testing.T) {
	var got Request
	m := newTestManager(t, workerThat(func(_ *fakeWorker, r Request, _ Sink) (Outcome, error) {
		got = r
		return Outcome{OK: true}, nil
	}), func(o *Options) { o.Verifier = &rules{judged: Judged{Source: "help(x)\n"}} })
	defer m.Close(t.Context())
	mustRun(t, m, RunRequest{Code: "x?"})
	if got.Code != "x?" || got.Judged.Source != "help(x)\n" || got.CompileOnly {
		t.Errorf("%+v", got)
	}
}

func TestUploadedModulesAreVerified(t *testing.T) {
	rules := &rules{answer: Errorf(CodeRefused, "Not run: line 1")}
	m := newTestManager(t, echoes(), func(o *Options) { o.Verifier = rules })
	defer m.Close(t.Context())
	for _, name := range []string{"a.py", "b/c.PYW"} {
		_, err := m.Upload(t.Context(), me, "", name, []byte("import os"))
		wantCode(t, err, CodeRefused, "was not written", "line 1")
	}
	if _, err := m.Upload(t.Context(), me, "", "a.csv", []byte("import os")); err != nil || len(rules.asked) != 2 || rules.asked[1].code != "import os" {
		t.Errorf("%v, %+v", err, rules.asked)
	}
	rules.answer = fmt.Errorf("%w: line 1", ErrSyntax)
	_, err := m.Upload(t.Context(), me, "", "a.py", []byte("x ="))
	wantCode(t, err, CodeRefused, "no valid Python", "another ending")
	rules.answer = nil
	if _, err := m.Upload(t.Context(), me, "", "a.py", []byte("x = 1")); err != nil {
		t.Error(err)
	}
}

type rules struct {
	answer error
	judged Judged
	asked  []struct {
		client Client
		kind   Kind
		code   string
	}
}

func (r *rules) Verify(_ context.Context, client Client, kind Kind, code string) (Judged, error) {
	r.asked = append(r.asked, struct {
		client Client
		kind   Kind
		code   string
	}{client, kind, code})
	return r.judged, r.answer
}

type refuser struct{}

func (refuser) Verify(context.Context, Client, Kind, string) (Judged, error) {
	return Judged{}, Errorf(CodeRefused, "line 1: os is not allowed")
}
