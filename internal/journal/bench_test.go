package journal

import (
	"testing"

	"understudy/sessions"
)

// usual is what a warm call that prints a line leaves.
func usual() sessions.Result {
	recoverable := true
	return sessions.Result{
		Stdout: "0.912\n", TermOut: []string{"0.912\n", "Execution time: 3 milliseconds (time limit is an hour)."}, ExecTime: 0.003, TimeLimit: 3600,
		Recoverable: &recoverable, Variables: &sessions.VariableDiff{Added: []string{"score"}},
	}
}

const usualCode = "model.fit(X_train, y_train)\nscore = accuracy_score(y_test, model.predict(X_test))\nscore\n"

func BenchmarkRecord(b *testing.B) {
	for _, c := range []struct {
		name    string
		secrets []string
		trial   bool
	}{{"plain", nil, false}, {"secret", []string{"sk-0123456789abcdef"}, false}, {"trial", nil, true}} {
		b.Run(c.name, func(b *testing.B) {
			j := begin(b, newPath(b), Options{})
			a := newAgent(b, j, "a", "c")
			a.secrets = c.secrets
			for b.Loop() {
				if c.trial {
					a.try(0.5, true, usual())
				} else {
					a.run(usualCode, usual())
				}
			}
		})
	}
}
