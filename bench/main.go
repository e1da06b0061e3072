// Bench measures understudy beside ipykernel, which jupyter_client drives, and
// beside bare limits of the machine: one run, the same Python, in turns.
//
// The words:
//
//   - contender: one of those that are measured side by side.
//   - round: every contender once, in an order that turns round each time, so
//     that what slows the machine down for a while slows them all.
//   - burst: the calls that a contender makes in one round, one after the
//     other; their median is the round's value.
//   - floor: a contender that does nothing but what can't be left out.
//   - driver: a process that measures within itself what only it can see, and
//     is told what to do in lines of JSON.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"
	"time"
)

// longest is how long a run may take before it is given up.
const longest = 40 * time.Minute

// options are the flags.
type options struct {
	rounds   int
	sessions int
	only     string
	curves   string
	write    bool
}

// section is one question with its tables.
type section struct {
	name    string
	measure func(context.Context, *bench) error
}

var sections = []section{
	{"start", measureStarts},
	{"ready", measureReady},
	{"warm", measureWarmCalls},
	{"cost", measureCost},
	{"crash", measureCrashes},
	{"branch", measureBranches},
	{"many", measureMany},
	{"memory", measureMemory},
	{"prints", measurePrints},
	{"figures", measureFigures},
	{"sessions", measureSessions},
	{"http", measureHTTP},
	{"journal", measureJournal},
	{"sandbox", measureSandbox},
}

func main() {
	if len(os.Args) > 1 && os.Args[1] == framesCommand {
		exitOn(serveFrames(os.Args[2:], os.Stdin, os.Stdout))
		return
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	ctx, cancel := context.WithTimeoutCause(ctx, longest, fmt.Errorf("the run took longer than %s", longest))
	defer cancel()
	exitOn(run(ctx, os.Args[1:], os.Stdout))
}

func exitOn(err error) {
	if err == nil || errors.Is(err, flag.ErrHelp) {
		return
	}
	fmt.Fprintln(os.Stderr, "bench:", err)
	os.Exit(1)
}

func run(ctx context.Context, args []string, out io.Writer) error {
	o, chosen, err := parse(args)
	if err != nil {
		return err
	}
	b, err := prepare(ctx, o)
	if err != nil {
		return fmt.Errorf("preparing: %w", becauseOf(ctx, err))
	}
	defer b.close()
	for _, s := range chosen {
		progress("measuring: %s", s.name)
		if err := s.measure(ctx, b); err != nil {
			return fmt.Errorf("measuring %s: %w", s.name, becauseOf(ctx, err))
		}
	}
	b.report.finished = time.Now()
	fmt.Fprint(out, b.report.markdown())
	return b.keep(ctx)
}

// keep draws and writes what the flags ask for.
func (b *bench) keep(ctx context.Context) error {
	if b.write {
		b.curves = imagesDir
	}
	if b.curves != "" {
		if err := b.report.draw(ctx, b.python, b.curves); err != nil {
			return err
		}
	}
	if b.write {
		return b.report.writeTo(documentPath)
	}
	return nil
}

// becauseOf returns why ctx ended, if it did: what failed then only followed.
func becauseOf(ctx context.Context, err error) error {
	switch {
	case ctx.Err() == nil:
		return err
	case errors.Is(ctx.Err(), context.Canceled):
		return errors.New("interrupted")
	default:
		return errors.Join(context.Cause(ctx), err)
	}
}

func parse(args []string) (options, []section, error) {
	var o options
	flags := flag.NewFlagSet("bench", flag.ContinueOnError)
	flags.IntVar(&o.rounds, "rounds", 9, "how often each contender is measured; 100 MB of prints a third as often")
	flags.IntVar(&o.sessions, "sessions", mostSessions, "how many sessions the section many goes up to")
	flags.StringVar(&o.curves, "curves", "", "draw the curves into this directory; -write draws them into "+imagesDir)
	flags.StringVar(&o.only, "only", "", "measure these sections only, separated by commas: "+strings.Join(names(sections), ", "))
	flags.BoolVar(&o.write, "write", false, "put the tables into "+documentPath)
	if err := flags.Parse(args); err != nil {
		return o, nil, err
	}
	switch {
	case flags.NArg() > 0:
		return o, nil, fmt.Errorf("unexpected argument %q", flags.Arg(0))
	case o.rounds < 1:
		return o, nil, errors.New("-rounds must be at least 1")
	case o.sessions < 1:
		return o, nil, errors.New("-sessions must be at least 1")
	case o.write && (o.only != "" || o.sessions != mostSessions):
		return o, nil, errors.New("-write needs all sections in full: leave out -only and -sessions")
	}
	chosen, err := choose(o.only)
	return o, chosen, err
}

func choose(only string) ([]section, error) {
	if only == "" {
		return sections, nil
	}
	var chosen []section
	for name := range strings.SplitSeq(only, ",") {
		i := slices.IndexFunc(sections, func(s section) bool { return s.name == name })
		if i < 0 {
			return nil, fmt.Errorf("-only: there is no section %q; there are %s", name, strings.Join(names(sections), ", "))
		}
		chosen = append(chosen, sections[i])
	}
	return chosen, nil
}

func names(all []section) []string {
	var list []string
	for _, s := range all {
		list = append(list, s.name)
	}
	return list
}

// progress tells on standard error what is being done.
func progress(format string, args ...any) {
	fmt.Fprintf(os.Stderr, format+"\n", args...)
}
