package app

import (
	"context"
	"log/slog"

	"understudy/internal/config"
	"understudy/internal/policy"
	"understudy/internal/transport"
	"understudy/internal/worker"
	"understudy/sessions"
	"understudy/tools"
)

// OpenPolicy reads the rules that the settings name; nil for none. A mistake in
// them is one of the settings, a *config.UsageError.
func OpenPolicy(c *config.Config, log *slog.Logger) (*policy.Source, error) {
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

// NewVerifier returns what checks code by rules, for the principal that a call has, in a
// Python that helper starts.
func NewVerifier(
	source *policy.Source, principal func(context.Context, sessions.Client) string,
	helper func(ctx context.Context, file string) (*worker.Helper, error), log *slog.Logger,
) *policy.Verifier {
	const checkerFile = "policy/verify.py" // of the package pyworker
	return policy.NewVerifier(policy.Options{
		Source: source, Principal: principal, Logger: log,
		Start: func(ctx context.Context) (policy.Process, error) {
			its, err := helper(ctx, checkerFile)
			if err != nil {
				return nil, err // and no nil pointer in an interface
			}
			return its, nil
		},
	})
}

// policyService is the Verifier of a server, and what keeps it.
type policyService struct {
	*policy.Verifier
	warming *background
}

// newPolicyService starts a checker in the background: where there is no Python the first
// call says so.
func newPolicyService(source *policy.Source, python *pythons, log *slog.Logger) *policyService {
	p := &policyService{NewVerifier(source, principalOf, python.Helper, log), newBackground()}
	p.warming.Go(func(life context.Context) {
		if err := p.Warm(life); err != nil {
			log.Debug("no checker of code is there yet", "error", err)
		}
	})
	return p
}

// principalOf names the caller of a request as it authenticated.
func principalOf(ctx context.Context, _ sessions.Client) string {
	return transport.CallerFrom(ctx).Principal
}

// rulesFor is what the tools' descriptions say of the rules, nil for none.
func rulesFor(source *policy.Source) *tools.Rules {
	if source == nil {
		return nil
	}
	base := source.Book().Rules("")
	return &tools.Rules{NoShell: base.Refuses("shell"), NoPip: base.Refuses("pip")}
}

// close ends the checkers. All code is refused from then on.
func (p *policyService) close() {
	p.warming.stop()
	p.Close()
}
