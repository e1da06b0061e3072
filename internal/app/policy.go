package app

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"sync"

	"understudy/internal/config"
	"understudy/internal/policy"
	"understudy/internal/pythonenv"
	"understudy/internal/transport"
	"understudy/sessions"
	"understudy/tools"
)

// checkerFile is what checks code, a file of the package pyworker.
const checkerFile = "policy/verify.py"

// openPolicy reads the rules that the settings name; nil for none. A mistake in
// them is one of the settings.
func openPolicy(c *config.Config, log *slog.Logger) (*policy.Source, error) {
	g := c.Serve.Guard
	if !g.Policed() {
		return nil, nil
	}
	source, err := policy.Open(g.Policy, policy.Additions{
		AllowModules: g.AllowModules, BlockModules: g.BlockModules, BlockFunctions: g.BlockFunctions,
	}, log)
	if err != nil {
		return nil, &config.UsageError{Err: err}
	}
	book := source.Book()
	if g.Mode == config.ModePluginOnly {
		log.Warn("the policy has nothing to check: with --mode plugin-only there is no code of agents, and plugins are the operator's", "policy", g.Policy)
	} else {
		log.Info("code is checked before it runs", "policy", g.Policy, "principals", book.Principals())
	}
	if book.Principals() > 0 && !c.Serve.Authenticates() {
		log.Warn("the policy has rules for principals, and nobody authenticates: all clients have its base rules", "policy", g.Policy)
	}
	return source, nil
}

// policing is the Verifier of a server, and what keeps it.
type policing struct {
	*policy.Verifier
	source  *policy.Source
	log     *slog.Logger
	life    context.Context
	endLife context.CancelFunc
	warming sync.WaitGroup
}

// newPolicing returns nil without rules.
func newPolicing(source *policy.Source, python *pythons, log *slog.Logger) *policing {
	if source == nil {
		return nil
	}
	v := policy.NewVerifier(policy.Options{
		Source: source, Principal: principalOf, Logger: log,
		Start: func(ctx context.Context) (policy.Process, error) { return asProcess(python.Helper(ctx, checkerFile)) },
	})
	life, endLife := context.WithCancel(context.Background())
	return &policing{Verifier: v, source: source, log: log, life: life, endLife: endLife}
}

// asProcess keeps a nil pointer from being an interface that is not nil.
func asProcess[T policy.Process](p T, err error) (policy.Process, error) {
	if err != nil {
		return nil, err
	}
	return p, nil
}

// principalOf names the caller of a request as it authenticated.
func principalOf(ctx context.Context, _ sessions.Client) string {
	return transport.CallerFrom(ctx).Principal
}

// warm starts a checker in the background: where there is no Python the first call
// says so.
func (p *policing) warm() {
	if p == nil {
		return
	}
	p.warming.Go(func() {
		if err := p.Warm(p.life); err != nil {
			p.log.Debug("no checker of code is there yet", "error", err)
		}
	})
}

// told is what the tools' descriptions say of the rules.
func (p *policing) told() *tools.Rules {
	if p == nil {
		return nil
	}
	base := p.source.Book().Rules("")
	return &tools.Rules{NoShell: base.Refuses("shell"), NoPip: base.Refuses("pip")}
}

// close ends the checkers. All code is refused from then on.
func (p *policing) close() {
	if p == nil {
		return
	}
	p.endLife()
	p.warming.Wait()
	p.Close()
}

// errAgainstPolicy is the error of a check that found something.
var errAgainstPolicy = errors.New("there is something that would not run: see above")

// CheckPolicy is the command policy check: it reads a file of rules, and says of
// each file of code and each command whether it would run under them.
func CheckPolicy(ctx context.Context, c *config.Config, out io.Writer) (err error) {
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
	starter := newStarter(c, found, nil, quiet())
	defer func() { err = errors.Join(err, starter.Close(context.WithoutCancel(ctx))) }()
	v := policy.NewVerifier(policy.Options{
		Source:    source,
		Start:     func(context.Context) (policy.Process, error) { return asProcess(starter.Helper(checkerFile)) },
		Principal: func(context.Context, sessions.Client) string { return check.Principal },
	})
	defer v.Close()
	trials, err := trialsOf(check)
	if err != nil {
		return err
	}
	return tell(ctx, v, trials, out)
}

// policyTrial is what one call would run.
type policyTrial struct {
	name string
	kind sessions.Kind
	text string
}

func trialsOf(check config.PolicyCheck) ([]policyTrial, error) {
	var all []policyTrial
	for _, name := range check.Code {
		code, err := os.ReadFile(name)
		if err != nil {
			return nil, err
		}
		all = append(all, policyTrial{name, sessions.RunsCode, string(code)})
	}
	for _, command := range check.Command {
		all = append(all, policyTrial{command, sessions.RunsCommand, command})
	}
	return all, nil
}

// tell says of each trial what a call with it would be told.
func tell(ctx context.Context, v *policy.Verifier, trials []policyTrial, out io.Writer) error {
	var bad error
	for _, trial := range trials {
		_, err := v.Verify(ctx, "", trial.kind, trial.text)
		switch {
		case err == nil:
			fmt.Fprintf(out, "%s: it would run\n", trial.name)
		case sessions.CodeOf(err) == sessions.CodeRefused, errors.Is(err, sessions.ErrSyntax):
			bad = errAgainstPolicy
			fmt.Fprintf(out, "%s: %v\n", trial.name, err)
		default:
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
	switch n := b.Principals(); n {
	case 0:
		return base
	case 1:
		return base + ", and rules for 1 principal"
	default:
		return fmt.Sprintf("%s, and rules for %d principals", base, n)
	}
}
