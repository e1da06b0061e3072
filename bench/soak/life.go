package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"regexp"
	"slices"
	"strconv"
	"sync/atomic"
	"syscall"
	"time"

	"golang.org/x/sync/errgroup"

	"understudy/internal/worker"
)

const (
	// mostSessions is how many sessions may live at once, branches included.
	mostSessions = 20
	// abandonedTime is how long an interpreter, and a client, may go unused over the
	// network: what clients leave behind that don't come back ends by itself.
	abandonedTime = 20 * time.Second
	// restTime is how long a server may take until all that is left of sessions and
	// clients who have gone is gone too.
	restTime = 3 * abandonedTime
)

// life is that of one server, with all sessions in it.
type life struct {
	*soak
	ctx     context.Context // of all that happens in it
	server  *server
	kinds   []kind // how its clients speak with it
	history int
	burst   bool    // copies have their usual share of the time; else each run is copied
	idle    numbers // of the server, warm and without sessions
	victim  string  // an interpreter that others intrude on
	group   *errgroup.Group
	live    atomic.Int32 // sessions
	winding atomic.Bool  // sessions are to be deleted, and no new ones to be made
	over    atomic.Bool  // the server is being left or killed
	unknown atomic.Int32 // forkers that were killed, less the deaths that nobody knows the reason of
}

// begin starts a server, and has clients come and go, so that its descriptors are
// those of any idle server.
func (k *soak) begin() *life {
	l := &life{soak: k, ctx: k.ctx, history: 1 + k.random.IntN(3), burst: k.forks() && k.random.IntN(2) == 0}
	if k.network {
		l.kinds, l.history, l.burst = []kind{modernHTTP, legacyHTTP, legacySSE}, 1, k.forks()
		l.server = k.startServer(true, "--idle-ttl", abandonedTime.String(), "--client-ttl", abandonedTime.String())
	} else {
		l.kinds = []kind{stdio}
		share := "1"
		if l.burst {
			share = "0.2"
		}
		settings := []string{"--copy-share", share}
		if k.forks() {
			settings = append(settings, "--history", strconv.Itoa(l.history))
		}
		l.server = k.startServer(false, settings...)
	}
	for range 2 { // the second time root and zygote are up
		l.visit()
	}
	l.idle = l.steadyDescriptors()
	return l
}

// visit has a client of each kind come and go in a server that is otherwise idle, and
// waits until the server is as warm as it gets.
func (l *life) visit() {
	random := rand.New(rand.NewPCG(l.seed, 1))
	for _, kind := range l.kinds {
		fail(l.converse(random, kind, false, func(s *session) {
			if l.python == nil {
				s.lookAround()
			}
			if l.network {
				s.work()
				s.giveUp()
			}
		}))
	}
	if l.forks() {
		eventually(l.ctx, answerTime, l.lacksSpares)
	}
}

// run drives sessions for a while, and returns when the last has ended.
func (l *life) run(long time.Duration, end func(*life)) error {
	l.group, l.ctx = errgroup.WithContext(l.soak.ctx)
	if l.network {
		victim := l.newSession(branchRandom(l.random), legacyHTTP)
		fail(victim.guard(func() { victim.open(false) }))
		l.victim = victim.id
		l.spawn(func() error {
			return victim.guard(func() {
				victim.stay()
				victim.remove()
			})
		})
		l.group.Go(func() error { return guard(func() { l.watchMemory(long) }) })
	} else if l.forks() {
		random := branchRandom(l.random)
		l.group.Go(func() error { return l.unlessOver(guard(func() { l.misfortunes(random) })) })
	}
	for i := range l.sessions {
		random := branchRandom(l.random)
		l.spawn(func() error { return l.slot(random, l.kinds[i%len(l.kinds)], i == 0 && !l.network) })
	}
	l.group.Go(func() error {
		return guard(func() {
			pause(l.ctx, long)
			end(l)
		})
	})
	err := l.group.Wait()
	l.ctx = l.soak.ctx
	return err
}

// spawn runs the life of a session, or of several one after the other.
func (l *life) spawn(drive func() error) {
	l.live.Add(1)
	l.group.Go(func() error {
		defer l.live.Add(-1)
		return drive()
	})
}

func (l *life) unlessOver(err error) error {
	if l.over.Load() || errors.Is(err, errOver) { // whatever is wrong came of that
		return nil
	}
	return err
}

// converse is what happens in one session, from its beginning to its end.
func (l *life) converse(random *rand.Rand, kind kind, byDefault bool, do func(*session)) error {
	s := l.newSession(random, kind)
	return s.guard(func() {
		s.open(byDefault)
		do(s)
		s.remove()
	})
}

// slot has one session live after the other.
func (l *life) slot(random *rand.Rand, kind kind, byDefault bool) error {
	for !l.winding.Load() && !l.over.Load() {
		l.counts.add("sessions", 1)
		if err := l.converse(random, kind, byDefault, (*session).drive); err != nil {
			return err
		}
	}
	return nil
}

// The ways in which a life ends.

// windDown has all sessions delete themselves.
func (l *life) windDown() { l.winding.Store(true) }

// leave closes the conversation while the sessions are at work.
func (l *life) leave() {
	l.over.Store(true)
	l.counts.add("servers left", 1)
	l.server.leave()
}

// slay kills the server while the sessions are at work.
func (l *life) slay() {
	l.over.Store(true)
	l.counts.add("servers killed", 1)
	l.server.signal(syscall.SIGKILL)
}

// How the server's log names the processes that fork workers, and those forked ahead of
// sessions to come. From outside a root can't be told from a worker that has lost one.
var (
	rootIsUp     = regexp.MustCompile(`msg="the root process is up".* pid=(\d+)\s`)
	zygoteIsWarm = regexp.MustCompile(`msg="the zygote process is up".* pid=(\d+)\s`)
	forkedAhead  = regexp.MustCompile(`msg="an interpreter is forked ahead".* pid=(\d+)\s`)
)

// lastNamed returns the process that the log named last, 0 if it named none.
func (s *server) lastNamed(pattern *regexp.Regexp) int {
	all := pattern.FindAllSubmatch(must(os.ReadFile(s.log)), -1)
	if len(all) == 0 {
		return 0
	}
	return must(strconv.Atoi(string(all[len(all)-1][1])))
}

// lacksSpares says what a server without sessions still lacks of its zygote and its
// workers forked ahead. It goes by the log, too: the server has descriptors to close
// after each fork.
func (l *life) lacksSpares() error {
	zygote, newest := l.server.lastNamed(zygoteIsWarm), l.server.lastNamed(forkedAhead)
	if zygote == 0 || !isRunning(zygote) {
		return errors.New("there is no warm zygote")
	}
	if spares := childrenOf(zygote); len(spares) != worker.UsualSpares || !slices.Contains(spares, newest) {
		return fmt.Errorf("the interpreters forked ahead are %v, with %d the newest", spares, newest)
	}
	return nil
}

// misfortunes kills what forks the workers, now and then. No session may notice, and the
// next new one must start as ever.
func (l *life) misfortunes(random *rand.Rand) {
	for {
		for until := time.Now().Add(time.Duration(1000+random.IntN(4000)) * time.Millisecond); time.Now().Before(until); {
			if l.winding.Load() || l.over.Load() {
				return
			}
			pause(l.ctx, 20*time.Millisecond)
		}
		what, name := zygoteIsWarm, "zygotes killed"
		if random.IntN(4) == 0 {
			what, name = rootIsUp, "roots killed"
		}
		pid := l.server.lastNamed(what)
		l.unknown.Add(1)
		if pid == 0 || killProcess(pid) != nil {
			l.unknown.Add(-1)
			continue // it is being replaced
		}
		l.counts.add(name, 1)
		fail(l.converse(random, stdio, false, func(s *session) {
			s.ok(step{code: "v_0 = 6 * 7\nv_0", stdout: "42\n", change: set("v_0", number(42))})
		}))
	}
}

// watchMemory fails when the server's memory doesn't stop growing: its last fifth may be
// hardly more than the second, when all clients had been busy for a while.
func (l *life) watchMemory(long time.Duration) {
	const looks = 50
	var memory []int64
	for range looks {
		size := residentMemory(l.server.pid())
		memory = append(memory, size)
		fmt.Fprintf(l.out, "the server has %d MB: %s\n", size>>20, l.counts.line())
		pause(l.ctx, long/looks)
	}
	early, late := mean(memory[looks/5:2*looks/5]), mean(memory[looks-looks/5:])
	const slack = 40 << 20        // what garbage there is when it is looked at
	if long <= 10*abandonedTime { // before that the abandoned only become more
		return
	}
	if late > early*3/2+slack {
		failf("the server's memory grew from %d MB to %d MB: %v", early>>20, late>>20, memory)
	}
}

func mean(all []int64) (sum int64) {
	for _, one := range all {
		sum += one
	}
	return sum / int64(len(all))
}
