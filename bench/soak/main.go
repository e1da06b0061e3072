// Soak has real servers hold random conversations, with every kind of crash among
// them, and compares every answer with a model of what the sessions must hold. The
// first answer that differs ends it.
//
// The words:
//
//   - life: what happens between the start of a server and its end, by the
//     client's leaving, by SIGKILL, or, the last one, after all sessions have
//     been deleted, so that one can see what is left.
//   - step: code with all that it must print, write and change.
//   - operation: what a session does next: a step, alone or before a death, a
//     branch, an undo, a kill from outside; the table is in operations.go.
//   - model: what a session must hold, and what undo must bring back.
//   - trail: a session's last calls, shown when it goes wrong.
//   - fault: what ends a conversation. Whoever meets one calls fail.
//
// With -network there is one server, on a Unix socket; its sessions come over HTTP of
// either era or SSE, hang up in the midst of a call and come back.
//
// With -kills servers are killed, one after the other, while code prints in them: what
// was printed until a second before has to be in the journal.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"slices"
	"syscall"
	"time"
)

// overtime is how much longer than asked a soak may take: it begins with the server's
// build, and ends with servers that are started only to be compared.
const overtime = 5 * time.Minute

// options are the flags.
type options struct {
	duration time.Duration
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
	options
	ctx     context.Context
	out     io.Writer
	dir     string // where the servers keep their files
	binary  string
	random  *rand.Rand // of the main goroutine
	servers []*server  // started so far
	python  *reference
	counts  counts
}

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
	flags.DurationVar(&o.duration, "for", 10*time.Minute, "how long to go on")
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
	case o.duration <= 0 || o.sessions < 1:
		return o, errors.New("-for and -sessions must be more than 0")
	}
	return o, nil
}

// run soaks. When something goes wrong, the servers' files are kept.
func run(ctx context.Context, o options, out io.Writer) error {
	if runtime.GOOS != "linux" {
		return errors.New("the soak looks for processes and descriptors in Linux's /proc")
	}
	ctx, cancel := context.WithTimeoutCause(ctx, o.duration+overtime, errors.New("it took too long"))
	defer cancel()
	dir, err := os.MkdirTemp("", "understudy-soak-")
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "seed %d, for %s\n", o.seed, o.duration)
	k := &soak{options: o, ctx: ctx, out: out, dir: dir, random: rand.New(rand.NewPCG(o.seed, 0))}
	err = guard(func() {
		k.prepare()
		if o.kills > 0 {
			k.killServers()
		} else {
			k.live()
		}
	})
	fmt.Fprint(out, k.counts.table())
	if err != nil {
		return fmt.Errorf("seed %d: %w\n%sthe files are kept in %s", o.seed, err, k.lastWords(), dir)
	}
	return os.RemoveAll(dir)
}

// prepare makes the servers' directories and, unless one was named, the server: with
// the race detector if the soak itself has it.
func (k *soak) prepare() {
	for _, sub := range []string{"data", "tmp", "logs"} {
		fail(os.Mkdir(k.path(sub), 0o755))
	}
	fail(os.WriteFile(k.path("config.yaml"), nil, 0o644))
	if k.server != "" {
		k.binary = must(filepath.Abs(k.server))
		return
	}
	k.binary = k.path("understudy")
	args := []string{"build", "-o", k.binary}
	info, ok := debug.ReadBuildInfo()
	if ok && slices.Contains(info.Settings, debug.BuildSetting{Key: "-race", Value: "true"}) {
		args = append(args, "-race")
	}
	if out, err := exec.CommandContext(k.ctx, "go", append(args, "understudy")...).CombinedOutput(); err != nil {
		failf("building the server: %w\n%s", err, out)
	}
}

// path is that of a file of the servers'.
func (k *soak) path(parts ...string) string {
	return filepath.Join(append([]string{k.dir}, parts...)...)
}

func (k *soak) forks() bool { return k.start != "spawn" }

// branchRandom returns a source that no other goroutine draws from.
func branchRandom(random *rand.Rand) *rand.Rand {
	return rand.New(rand.NewPCG(random.Uint64(), random.Uint64()))
}

// pick returns one of the choices.
func pick[T any](random *rand.Rand, choices ...T) T { return choices[random.IntN(len(choices))] }

// weighted returns the place of one of n choices, each as likely as its weight says.
func weighted(random *rand.Rand, n int, weight func(i int) int) int {
	total := 0
	for i := range n {
		total += weight(i)
	}
	at, i := random.IntN(total), 0
	for ; at >= weight(i); i++ {
		at -= weight(i)
	}
	return i
}

// live has one server live after the other, and looks around at the end. Over the
// network there is one.
func (k *soak) live() {
	began := time.Now()
	for last := false; !last; {
		left := k.duration - time.Since(began)
		long := k.duration/8 + time.Duration(k.random.Int64N(int64(k.duration/6)))
		end := pick(k.random, (*life).leave, (*life).slay)
		if last = k.network || long >= left; last {
			end, long = (*life).windDown, left
		}
		l := k.begin()
		fail(l.run(long, end))
		fmt.Fprintf(k.out, "%s: %s\n", time.Since(began).Round(time.Second), k.counts.line())
		if last {
			l.lookForLeftovers()
		}
	}
}
