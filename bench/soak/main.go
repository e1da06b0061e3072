// Soak makes random calls in many sessions of a real server, with every kind
// of crash among them, and compares every answer with a model of what the
// sessions must hold. The first answer that differs ends it.
//
// The words:
//
//   - life: what happens between the start of a server and its end, by the
//     client's leaving, by SIGKILL, or, the last one, after all sessions have
//     been deleted, so that one can see what is left.
//   - step: code with all that it must print, write and change.
//   - action: what a session does next: a step, alone or before a death, a
//     branch, an undo, a kill from outside.
//   - model: what a session must hold, and what undo must bring back.
//   - trail: a session's last calls, shown when it goes wrong.
//
// With -kills servers are killed, one after the other, while code prints in them: what was
// printed until a second before has to be in the journal.
//
// With -network there is one server, on a Unix socket, and
//
//   - customer: a client of it, over HTTP of either era or SSE, with one
//     interpreter and a model of what it holds. It calls, waits, cancels, plots,
//     hangs up in the midst of a call and comes back.
package main

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/signal"
	"runtime"
	"runtime/debug"
	"slices"
	"sync"
	"syscall"
	"time"
)

const killSignal = syscall.SIGKILL

// overtime is how much longer than asked a soak may take: it begins with the server's
// build, and ends with servers that are started only to be compared, each of which may
// take as long as answerTime and restTime allow.
const overtime = 5 * time.Minute

// options are the flags.
type options struct {
	time     time.Duration
	calls    int
	seed     uint64
	server   string
	start    string
	python   string
	sessions int
	network  bool
	kills    int
	late     time.Duration
}

// soak is one run.
type soak struct {
	options options
	binary  string
	place   place
	counts  *counts
	random  *rand.Rand // of the main goroutine
	servers int        // started so far
	has     libraries
}

func (k *soak) forks() bool { return k.options.start != "spawn" }

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	o, err := parse(os.Args[1:])
	if err == nil {
		err = run(ctx, o, os.Stdout)
	}
	if err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintln(os.Stderr, "soak:", err)
		stop()
		os.Exit(1)
	}
}

func parse(args []string) (options, error) {
	var o options
	flags := flag.NewFlagSet("soak", flag.ContinueOnError)
	flags.DurationVar(&o.time, "for", 10*time.Minute, "how long to go on")
	flags.IntVar(&o.calls, "calls", 0, "how many calls to make at most; 0 sets no limit")
	flags.Uint64Var(&o.seed, "seed", uint64(time.Now().UnixNano()), "where the random choices begin")
	flags.StringVar(&o.server, "server", "", "program to soak; built when left out")
	flags.StringVar(&o.start, "start", "zygote", "how interpreters start: zygote, spawn")
	flags.StringVar(&o.python, "python", os.Getenv("UNDERSTUDY_PYTHON"), "Python that runs the code; the server's choice when left out")
	flags.BoolVar(&o.network, "network", false, "soak HTTP and SSE with many clients instead of sessions that die")
	flags.IntVar(&o.kills, "kills", 0, "how many servers to kill, one after the other, with runs in progress, and read what is left of them")
	flags.DurationVar(&o.late, "late", time.Second, "until how long before its server's death all that code had printed has to be in the journal")
	flags.IntVar(&o.sessions, "sessions", 12, "how many sessions are at work at once, branches not counted")
	if err := flags.Parse(args); err != nil {
		return o, err
	}
	switch {
	case flags.NArg() > 0:
		return o, fmt.Errorf("unexpected argument %q", flags.Arg(0))
	case o.start != "zygote" && o.start != "spawn":
		return o, fmt.Errorf("-start must be zygote or spawn, not %q", o.start)
	case o.time <= 0 || o.sessions < 1:
		return o, errors.New("-for and -sessions must be more than 0")
	}
	return o, nil
}

// run soaks. When something goes wrong, the servers' files are kept.
func run(ctx context.Context, o options, out io.Writer) error {
	if runtime.GOOS != "linux" {
		return errors.New("the soak looks for processes and descriptors in Linux's /proc")
	}
	ctx, cancel := context.WithTimeoutCause(ctx, o.time+overtime, errors.New("it took too long"))
	defer cancel()
	dir, err := os.MkdirTemp("", "understudy-soak-")
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "seed %d, for %s\n", o.seed, o.time)
	k := &soak{options: o, counts: newCounts(), random: rand.New(rand.NewPCG(o.seed, 0))}
	if err := k.prepare(ctx, dir); err != nil {
		return errors.Join(err, os.RemoveAll(dir))
	}
	switch {
	case o.kills > 0:
		err = k.runKills(ctx, out)
	case o.network:
		err = k.runNetwork(ctx, out)
	default:
		err = k.runFor(ctx, out)
	}
	fmt.Fprint(out, k.counts.table())
	if err != nil {
		return fmt.Errorf("seed %d: %w\nthe files are kept in %s", o.seed, err, dir)
	}
	return os.RemoveAll(dir)
}

func (k *soak) prepare(ctx context.Context, dir string) (err error) {
	if k.place, err = newPlace(dir); err == nil {
		k.binary, err = build(ctx, k.options, dir)
	}
	return err
}

// runFor has one server live after the other, and looks around at the end.
func (k *soak) runFor(ctx context.Context, out io.Writer) error {
	began := time.Now()
	stop := make(chan struct{})
	var lines sync.WaitGroup
	lines.Go(func() { k.counts.lines(out, began, stop) })
	defer lines.Wait()
	defer close(stop)

	for {
		left := k.options.time - time.Since(began)
		long := k.options.time/8 + time.Duration(k.random.Int64N(int64(k.options.time/6)))
		end, last := pick(k.random, leave, slay), long >= left || k.enough()
		if last {
			end, long = windDown, left
		}
		if err := k.oneLife(ctx, long, end, last); err != nil || last {
			return err
		}
	}
}

// oneLife is that of one server, from its start to the end of all its processes.
func (k *soak) oneLife(ctx context.Context, long time.Duration, end func(*life) error, last bool) error {
	l, err := k.begin(ctx)
	if err != nil {
		return err
	}
	if err := l.run(ctx, long, end); err != nil {
		return l.explained(err)
	}
	if last {
		err = l.lookForLeftovers(ctx)
	}
	return errors.Join(err, l.server.raceFree())
}

// explained adds the server's log to an error and ends the server.
func (l *life) explained(err error) error {
	return errors.Join(err, l.explain(l.server))
}

// explain returns the end of a server's log, and then ends it.
func (k *soak) explain(s *server) error {
	const most = 6000
	text, err := os.ReadFile(s.log)
	s.kill()
	if err != nil {
		return err
	}
	return errors.Join(s.raceFree(), fmt.Errorf("the end of the server's log, %s:\n%s", s.log, text[max(0, len(text)-most):]))
}

// raceFree returns what the race detector has found in the server, if anything.
func (s *server) raceFree() error {
	text, err := os.ReadFile(s.log)
	if err != nil {
		return err
	}
	if at := bytes.Index(text, []byte("WARNING: DATA RACE")); at >= 0 {
		return fmt.Errorf("the server has a data race (%s):\n%.6000s", s.log, text[at:])
	}
	return nil
}

// raceDetected reports whether this program has the race detector.
func raceDetected() bool {
	info, ok := debug.ReadBuildInfo()
	return ok && slices.Contains(info.Settings, debug.BuildSetting{Key: "-race", Value: "true"})
}
