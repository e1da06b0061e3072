package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sync/errgroup"
)

const (
	// abandonedTime is how long an interpreter, and a client, may go unused: what
	// customers leave behind that don't come back ends by itself.
	abandonedTime = 20 * time.Second
	// restTime is how long a server may take until all that is left of
	// customers who have gone is gone too.
	restTime = 3 * abandonedTime
)

// market is a server on a Unix socket with its customers.
type market struct {
	*soak
	server *server
	socket string
	idle   descriptors // warm, and without customers
}

// open starts a server that listens, and has customers of every kind come and
// go, so that whatever comes with the first is there.
func (k *soak) openMarket(ctx context.Context, dir string) (*market, error) {
	m := &market{soak: k, socket: filepath.Join(dir, fmt.Sprintf("s%d", k.servers))}
	m.server = k.newServer("--transport", "http,sse", "--socket", m.socket, "--log-level", "debug",
		"--max-requests-per-second", "0", "--idle-ttl", abandonedTime.String(), "--client-ttl", abandonedTime.String())
	if err := m.listen(ctx); err != nil {
		return nil, errors.Join(err, k.explain(m.server))
	}
	random := rand.New(rand.NewPCG(k.options.seed, 1))
	forkers := &life{soak: k, server: m.server}
	for range 2 { // the second time root and zygote are up
		for _, kind := range kinds {
			if err := m.visit(ctx, kind, random); err != nil {
				return nil, errors.Join(err, k.explain(m.server))
			}
		}
		if err := forkers.warm(ctx); err != nil {
			return nil, errors.Join(err, k.explain(m.server))
		}
	}
	if err := forkers.awaitSpares(ctx); err != nil {
		return nil, errors.Join(err, k.explain(m.server))
	}
	var err error
	if m.idle, err = m.server.steadyDescriptors(ctx); err != nil {
		return nil, errors.Join(err, k.explain(m.server))
	}
	return m, nil
}

// listen starts the server and waits until it answers.
func (m *market) listen(ctx context.Context) error {
	log, err := os.Create(m.server.log)
	if err != nil {
		return err
	}
	defer log.Close() // the server has its own descriptor of it
	m.server.cmd.Stderr = log
	if err := m.server.cmd.Start(); err != nil {
		return err
	}
	go func() {
		m.server.err = m.server.cmd.Wait()
		close(m.server.ended)
	}()
	for deadline := time.Now().Add(answerTime); ; {
		if conn, err := net.Dial("unix", m.socket); err == nil {
			return conn.Close()
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("the server doesn't listen on %s", m.socket)
		}
		if err := pause(ctx, 20*time.Millisecond); err != nil {
			return err
		}
	}
}

// runNetwork has customers use one server, and looks around at the end.
func (k *soak) runNetwork(ctx context.Context, out io.Writer) error {
	dir := filepath.Dir(k.place.data)
	m, err := k.openMarket(ctx, dir)
	if err != nil {
		return err
	}
	if err := m.trade(ctx, out); err != nil {
		return errors.Join(err, k.explain(m.server))
	}
	return m.lookForLeftovers(ctx, dir)
}

// trade has customers call for as long as was asked for.
func (m *market) trade(ctx context.Context, out io.Writer) error {
	victim := m.newCustomer(legacyHTTP, m.branchRandom())
	if err := victim.open(ctx); err != nil {
		return victim.blame(err)
	}
	until := time.Now().Add(m.options.time)
	group, during := errgroup.WithContext(ctx)
	group.Go(func() error { return victim.blame(victim.stay(during, until)) })
	for i := range m.options.sessions {
		c := m.newCustomer(kinds[i%len(kinds)], m.branchRandom())
		c.victim = victim.id
		group.Go(func() error { return c.blame(c.live(during, until)) })
	}
	var memory []int64 // of the server, in the course of time
	group.Go(func() error {
		for time.Now().Before(until) {
			size, err := residentMemory(m.server.pid())
			if err != nil {
				return err
			}
			memory = append(memory, size)
			if err := pause(during, m.options.time/50); err != nil {
				return err
			}
		}
		return nil
	})
	err := group.Wait()
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "the server's memory: %d MB at first, %d MB at the end\n", memory[0]>>20, memory[len(memory)-1]>>20)
	if m.options.time > 10*abandonedTime { // before that the abandoned only become more
		err = bounded(memory)
	}
	return errors.Join(err, victim.blame(victim.leave(ctx)))
}

// bounded reports whether memory has stopped growing: its last fifth needs
// hardly more than the second, when all customers had been busy for a while.
func bounded(memory []int64) error {
	if len(memory) < 10 {
		return nil
	}
	fifth := len(memory) / 5
	early, late := mean(memory[fifth:2*fifth]), mean(memory[len(memory)-fifth:])
	const slack = 40 << 20 // what garbage there is when it is looked at
	if late > early*3/2+slack {
		return fmt.Errorf("the server's memory grew from %d MB to %d MB: %v", early>>20, late>>20, memory)
	}
	return nil
}

func mean(all []int64) (sum int64) {
	for _, one := range all {
		sum += one
	}
	return sum / int64(len(all))
}

// residentMemory is what a process holds in memory, in bytes.
func residentMemory(pid int) (int64, error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/statm", pid))
	if err != nil {
		return 0, err
	}
	fields := strings.Fields(string(text))
	if len(fields) < 2 {
		return 0, fmt.Errorf("statm of process %d: %q", pid, text)
	}
	pages, err := strconv.ParseInt(fields[1], 10, 64)
	return pages * int64(os.Getpagesize()), err
}

// steadyDescriptors waits until what the server has open stays the same for a
// while: it closes what customers leave behind in its own time, and opens files for
// a moment of its own accord.
func (s *server) steadyDescriptors(ctx context.Context) (descriptors, error) {
	var last descriptors
	same := 0
	for deadline := time.Now().Add(restTime); same < steadyLooks; {
		now, err := s.descriptors()
		if err != nil {
			return nil, err
		}
		if maps.Equal(now, last) {
			same++
		} else {
			same, last = 0, now
		}
		if time.Now().After(deadline) {
			return nil, fmt.Errorf("what the server has open doesn't settle: %v", now)
		}
		if err := pause(ctx, 50*time.Millisecond); err != nil {
			return nil, err
		}
	}
	return last, nil
}

// lookForLeftovers waits until the server holds nothing of its customers any
// more, and compares its goroutines with those of a fresh one.
func (m *market) lookForLeftovers(ctx context.Context, dir string) error {
	// It starts while what was left behind comes to its end.
	fresh, err := m.soak.openMarket(ctx, dir)
	if err != nil {
		return errors.Join(err, m.explain(m.server))
	}
	used, err := m.inspect(ctx)
	if err != nil {
		return errors.Join(err, m.explain(m.server), m.explain(fresh.server))
	}
	idle, err := fresh.inspect(ctx)
	if err != nil {
		return errors.Join(err, m.explain(fresh.server))
	}
	if len(used) < 3 || len(idle) < 3 {
		return fmt.Errorf("the goroutines of the servers could not be read: %v, %v", used, idle)
	}
	if err := used.beyond(idle); err != nil {
		return errors.Join(err, m.explain(m.server))
	}
	// A server that starts clears up after those that were killed.
	last, err := m.soak.openMarket(ctx, dir)
	if err != nil {
		return err
	}
	if err := last.server.signal(syscall.SIGTERM); err != nil {
		return errors.Join(err, m.explain(last.server))
	}
	if last.server.err != nil {
		return fmt.Errorf("the server that was asked to stop ended with: %w", last.server.err)
	}
	return errors.Join(last.server.gone(), m.server.raceFree(), noFiles(m.place.temp, filepath.Join(m.place.data, "run")))
}

// within reports whether nothing is open that was not.
func (d descriptors) within(idle descriptors) bool {
	for what, n := range d {
		if n > idle[what] {
			return false
		}
	}
	return true
}

// inspect looks for descriptors and files that a server without customers ought
// not to have, has it write its goroutines down, and returns them.
func (m *market) inspect(ctx context.Context) (goroutines, error) {
	deadline, quiet := time.Now().Add(restTime), 0
	for {
		now, err := m.server.descriptors()
		if err != nil {
			return nil, err
		}
		files := noFiles(filepath.Join(m.place.data, "run", "*", "sessions"), filepath.Join(m.place.data, "run", "*", "work"))
		if quiet++; !now.within(m.idle) || files != nil {
			quiet = 0
		}
		if quiet == steadyLooks {
			break
		}
		if time.Now().After(deadline) {
			return nil, errors.Join(fmt.Errorf("without customers the server has %v open; it had %v", now, m.idle), files)
		}
		if err := pause(ctx, 50*time.Millisecond); err != nil {
			return nil, err
		}
	}
	dump, err := m.server.dump()
	if err != nil {
		return nil, err
	}
	return readGoroutines(dump), m.server.gone()
}
