package command

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"understudy/internal/app"
	"understudy/internal/config"
	"understudy/internal/phrase"
	"understudy/internal/policy"
	"understudy/internal/pythonenv"
	"understudy/internal/worker"
	"understudy/sessions"
)

// errAgainstPolicy is the error of a check that found something.
var errAgainstPolicy = errors.New("there is something that would not run: see above")

// CheckPolicy is the command policy check: it reads a file of rules, and says of
// each file of code and each command whether it would run under them.
func CheckPolicy(ctx context.Context, c *config.Config, out io.Writer) error {
	check := c.Policy.Check
	source, err := policy.Open(check.File, policy.Additions{}, nil)
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "%s: the rules can be read; %s\n", check.File, inWords(source.Book()))
	if len(check.Code)+len(check.Command) == 0 {
		return nil
	}
	found, err := pythonenv.Find(ctx, pythonenv.Options{Python: c.Python, DataDir: c.DataDir})
	if err != nil {
		return err
	}
	return withVerifier(ctx, c, found, source, check.Principal, func(v *policy.Verifier) error {
		return tellWhatRuns(ctx, v, check, out)
	})
}

// withVerifier does something with what checks code, for a principal.
func withVerifier(
	ctx context.Context, c *config.Config, python *pythonenv.Found, source *policy.Source, principal string,
	do func(*policy.Verifier) error,
) (err error) {
	starter := app.NewStarter(c, python, nil)
	defer func() { err = errors.Join(err, starter.Close(context.WithoutCancel(ctx))) }()
	helper := func(_ context.Context, file string) (*worker.Helper, error) { return starter.Helper(file) }
	v := app.NewVerifier(source, func(context.Context, sessions.Client) string { return principal }, helper, nil)
	defer v.Close()
	return do(v)
}

// tellWhatRuns says of each file and each command what a call with it would be told.
func tellWhatRuns(ctx context.Context, v *policy.Verifier, check config.PolicyCheck, out io.Writer) error {
	var bad error
	tell := func(name string, kind sessions.Kind, text string) error {
		_, err := v.Verify(ctx, sessions.Anonymous, kind, text)
		switch {
		case err == nil:
			fmt.Fprintf(out, "%s: it would run\n", name)
		case sessions.CodeOf(err) == sessions.CodeRefused, errors.Is(err, sessions.ErrSyntax):
			bad = errAgainstPolicy
			fmt.Fprintf(out, "%s: %v\n", name, err)
		default:
			return err
		}
		return nil
	}
	for _, name := range check.Code {
		code, err := os.ReadFile(name)
		if err == nil {
			err = tell(name, sessions.RunsCode, string(code))
		}
		if err != nil {
			return err
		}
	}
	for _, command := range check.Command {
		if err := tell(command, sessions.RunsCommand, command); err != nil {
			return err
		}
	}
	return bad
}

// inWords says for whom a book has rules.
func inWords(b *policy.Book) string {
	base := "the base rules allow everything"
	if !b.Rules("").None() {
		base = "it has base rules, for everybody without rules of their own"
	}
	if n := b.Principals(); n > 0 {
		base += ", and rules for " + phrase.Count(n, "principal")
	}
	return base
}

// policy says whether code is checked before it runs, and tries that.
func (f *findings) policy(ctx context.Context, c *config.Config, python *pythonenv.Found) {
	source, err := app.OpenPolicy(c, quiet())
	switch {
	case err != nil:
		f.add(groupGuards, "policy", stateFailed, "%v", err)
		return
	case source == nil:
		f.add(groupGuards, "policy", stateNote, "none: code may do whatever this user may (--policy)")
		return
	}
	var took time.Duration
	err = withVerifier(ctx, c, python, source, "", func(v *policy.Verifier) error {
		if err := v.Warm(ctx); err != nil {
			return err
		}
		began := time.Now() // as the checker is there
		_, err := v.Verify(ctx, sessions.Anonymous, sessions.RunsCode, "1 + 1")
		took = time.Since(began)
		if sessions.CodeOf(err) == sessions.CodeRefused { // which was checked too
			return nil
		}
		return err
	})
	if err != nil {
		f.add(groupGuards, "policy", stateFailed, "code can't be checked, so that none would run: %v", err)
		return
	}
	f.add(groupGuards, "policy", stateOK, "%s; a line of code was checked in %v", inWords(source.Book()), took.Round(time.Microsecond))
	if g := c.Serve.Guard; g.Policy != "" && g.Policy != policy.DefaultsName && writable(g.Policy) {
		f.add(groupGuards, "policy file", stateNote, "this user can write to %s, and so can code that gets past its rules; give it to another user", g.Policy)
	}
}

// writable reports whether this process may write to a file.
func writable(path string) bool {
	file, err := os.OpenFile(path, os.O_WRONLY, 0)
	return err == nil && file.Close() == nil
}
