package policy

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"time"

	"understudy/sessions"
)

// Options say how a Verifier checks. Source and Start are required.
type Options struct {
	Source *Source
	// Start starts a checker.
	Start func(context.Context) (Process, error)
	// Principal names the caller of a request for whom there may be rules, "" for
	// one without a name. Without it nobody has one.
	Principal func(context.Context, sessions.Client) string
	// Limit is how long one check may take; 5 s.
	Limit time.Duration
	// Logger gets what concerns the operator; by default nobody does.
	Logger *slog.Logger
}

// Verifier refuses code that is against the rules for its caller. It satisfies
// sessions.Verifier.
type Verifier struct {
	source    *Source
	principal func(context.Context, sessions.Client) string
	checker   *checker
	log       *slog.Logger
}

// usualLimit is how long a check may take: hundreds of kilobytes of usual code take less
// than a second, thousands of functions in one cell several.
const usualLimit = 5 * time.Second

// NewVerifier returns a Verifier that has started no process yet. Close must be
// called at the end.
func NewVerifier(o Options) *Verifier {
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.Limit == 0 {
		o.Limit = usualLimit
	}
	if o.Principal == nil {
		o.Principal = func(context.Context, sessions.Client) string { return "" }
	}
	return &Verifier{source: o.Source, principal: o.Principal, checker: newChecker(o.Start, o.Limit, o.Logger), log: o.Logger}
}

// Warm starts a checker, so that the first call need not wait for it.
func (v *Verifier) Warm(ctx context.Context) error {
	_, err := v.checker.ask(ctx, "", question{Kind: string(sessions.RunsCode), Code: "0", Policy: Rules{}.encode()})
	return err
}

// Close ends the checker. What is being checked is refused.
func (v *Verifier) Close() { v.checker.close() }

// mostCode is how many bytes of code are checked: its tree takes some hundred times
// as much memory.
const mostCode = 2 << 20

// Verify returns what of the code runs if nothing in it is against the rules for its
// caller. A plugin is the operator's own code, and no rule is about it.
func (v *Verifier) Verify(ctx context.Context, client sessions.Client, kind sessions.Kind, code string) (sessions.Judged, error) {
	var judged sessions.Judged
	if kind == sessions.RunsPlugin {
		return judged, nil
	}
	principal := v.principal(ctx, client)
	e := v.source.Book().of(principal)
	if e.none {
		return judged, nil
	}
	if len(code) > mostCode {
		return judged, unchecked(fmt.Sprintf("it has %d bytes, and at most %d are checked", len(code), mostCode))
	}
	isFile := kind == sessions.RunsFile
	if isFile {
		if problem := encodingProblem(code); problem != "" {
			return judged, unreadable(problem)
		}
		kind = sessions.RunsCode
	}
	found, err := v.checker.ask(ctx, cmp.Or(principal, string(client)), question{Kind: string(kind), Code: code, Policy: e.encoded})
	switch {
	case err != nil:
		return judged, v.failed(ctx, err)
	case found.SyntaxError != nil && kind != sessions.RunsCode:
		return judged, unchecked("it can't be read: " + cut(*found.SyntaxError, longestLine))
	case found.SyntaxError != nil:
		return judged, fmt.Errorf("%w: %s", sessions.ErrSyntax, *found.SyntaxError)
	case isFile && found.Transformed != nil: // an import reads it as it is
		return judged, fmt.Errorf("%w: it has magics, or must be repaired", sessions.ErrSyntax)
	case len(found.Violations) > 0:
		v.log.Warn("code was refused", "principal", nameOrNobody(principal), "rules", rulesOf(found.Violations), "violations", len(found.Violations))
		return judged, refusal(kind, found.Violations)
	}
	if kind == sessions.RunsCode {
		judged.Source, judged.Notes = code, found.Notes
		if found.Transformed != nil {
			judged.Source = *found.Transformed
		}
	}
	return judged, nil
}

// failed says why the code was not checked. It does not run then.
func (v *Verifier) failed(ctx context.Context, err error) error {
	var start *startError
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case errors.As(err, &start):
		return sessions.Errorf(sessions.CodeStart, "the Python interpreter could not be started: %w", start.err)
	case errors.Is(err, errClosed):
		return sessions.Errorf(sessions.CodeClosed, "%v", err)
	case errors.Is(err, errBusy):
		return sessions.Errorf(sessions.CodeBusy, "the server is busy checking the code of others; this code did not run. Try again")
	case errors.Is(err, errSlow):
		return unchecked(fmt.Sprintf("that took more than %v", v.checker.limit))
	case errors.Is(err, errDied):
		return unchecked("its checker ran out of memory or crashed")
	}
	return unchecked("its checker did not answer as it should")
}

func nameOrNobody(principal string) string {
	if principal == "" {
		return "nobody by name"
	}
	return principal
}

// rulesOf lists the broken rules, each once, and no code: the log is not for it.
// What a rule says may be a name of the code's, and is cut.
func rulesOf(violations []Violation) string {
	const most, longest = 10, 80
	var rules []string
	for _, v := range violations {
		rule := cut(v.Rule, longest)
		if !slices.Contains(rules, rule) {
			rules = append(rules, rule)
		}
	}
	slices.Sort(rules)
	if more := len(rules) - most; more > 0 {
		rules = append(rules[:most], fmt.Sprintf("and %d more", more))
	}
	return strings.Join(rules, ", ")
}
