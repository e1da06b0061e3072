package app

import (
	"context"
	"errors"
	"os"
	"time"

	"understudy/internal/config"
	"understudy/internal/policy"
	"understudy/internal/pythonenv"
	"understudy/sessions"
)

// policy says whether code is checked before it runs, and tries that.
func (f *findings) policy(ctx context.Context, c *config.Config, python *pythonenv.Found) {
	source, err := openPolicy(c, quiet())
	switch {
	case err != nil:
		f.add(groupGuards, "policy", stateFailed, "%v", err)
		return
	case source == nil:
		f.add(groupGuards, "policy", stateNote, "none: code may do whatever this user may (--policy)")
		return
	}
	took, err := tryCheck(ctx, c, python, source)
	if err != nil {
		f.add(groupGuards, "policy", stateFailed, "code can't be checked, so that none would run: %v", err)
		return
	}
	f.add(groupGuards, "policy", stateOK, "%s; a line of code was checked in %v", inWords(source.Book()), took.Round(time.Microsecond))
	if g := c.Serve.Guard; g.Policy != "" && g.Policy != policy.DefaultsName && writable(g.Policy) {
		f.add(groupGuards, "policy file", stateNote, "this user can write to %s, and so can code that gets past its rules; give it to another user", g.Policy)
	}
}

// tryCheck has a line of code checked twice and times the second, when the checker
// is there.
func tryCheck(ctx context.Context, c *config.Config, python *pythonenv.Found, source *policy.Source) (took time.Duration, err error) {
	starter := newStarter(c, python, nil, quiet())
	defer func() { err = errors.Join(err, starter.Close(context.WithoutCancel(ctx))) }()
	v := policy.NewVerifier(policy.Options{
		Source: source,
		Start:  func(context.Context) (policy.Process, error) { return asProcess(starter.Helper(checkerFile)) },
	})
	defer v.Close()
	if err := v.Warm(ctx); err != nil {
		return 0, err
	}
	began := time.Now()
	// What is refused was checked too.
	_, err = v.Verify(ctx, sessions.Anonymous, sessions.RunsCode, "1 + 1")
	took = time.Since(began)
	if sessions.CodeOf(err) == sessions.CodeRefused {
		err = nil
	}
	return took, err
}

// writable reports whether this process may write to a file.
func writable(path string) bool {
	file, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		return false
	}
	return file.Close() == nil
}
