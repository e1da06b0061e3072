package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/mark3labs/mcp-go/client"
	"golang.org/x/sync/errgroup"

	"understudy/internal/journal"
	"understudy/sessions"
)

// printers are runs that print without end, in the ways in which code prints. say(text)
// prints the next number in the text, and then notes, in a file that no server knows, the
// number and the time.
var printers = []struct {
	name, code string
	flood      bool // prints more than what is kept of a run
}{
	{"lines", "while True: say('<%d>\\n'); time.sleep(random.random() / 50)", false},
	{"few lines", "while True: say('<%d>\\n'); time.sleep(random.random() / 2)", false},
	{"half lines", "while True: say('<%d>'); time.sleep(random.random() / 20)", false},
	{"progress", "while True: say('\\r<%d>'); time.sleep(random.random() / 20)", false},
	{"standard error", "out = sys.stderr\nwhile True: say('<%d>\\n'); time.sleep(random.random() / 20)", false},
	{"both streams", "while True: out = random.choice([sys.stdout, sys.stderr]); say('<%d>\\n'); time.sleep(random.random() / 20)", false},
	{"a child", "while True: subprocess.run(['echo', f'<{n}>'], check=True); say(''); time.sleep(random.random() / 20)", false},
	{"long lines", "while True: say('<%d>' + 'x' * 1000 + '\\n'); time.sleep(random.random() / 50)", true},
	{"a flood", "while True: say('<%d> ' + 'x' * 100 + '\\n')", true},
}

const sayer = `
import os, random, subprocess, sys, time
out, n, truth = sys.stdout, 0, os.open(%q, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
def say(text):
    global n
    if text: print(text %% n, end='', file=out)
    os.write(truth, b'%%d %%d\n' %% (n, time.time_ns())); n += 1
`

// kills is a soak that kills servers while code runs, and reads what the journal has of it.
type kills struct {
	*soak
	random *rand.Rand
	worst  time.Duration // how long before its server's death the first print was that is lost
	ofWhat string
	total  int // runs that the journal was asked for
}

// runKills kills as many servers as were asked for, each at a random moment.
func (k *soak) runKills(ctx context.Context, out io.Writer) error {
	all := &kills{soak: k, random: k.random}
	var wrong error
	for i := range k.options.kills {
		if err := all.once(ctx, i%2 == 1); err != nil {
			wrong = errors.Join(wrong, fmt.Errorf("kill %d: %w", i+1, err))
			if ctx.Err() != nil {
				break
			}
		}
		k.counts.add("servers killed", 1)
		if i%20 == 19 || i+1 == k.options.kills {
			fmt.Fprintf(out, "%d servers killed with %d runs; the oldest print that was lost was %s old (%s)\n", i+1, all.total, all.worst.Round(time.Millisecond), all.ofWhat)
		}
	}
	return wrong
}

// once kills one server, on stdio or HTTP, while all printers are at work.
func (k *kills) once(ctx context.Context, http bool) error {
	s, c, err := k.serve(ctx, http)
	if err != nil {
		return err
	}
	defer s.kill()
	var calls errgroup.Group
	ids, acknowledged := make([]string, len(printers)), 0
	for i := range printers {
		_ = os.Remove(k.truthOf(i)) // of the server before
		made, err := callWith(ctx, c, manageTool, arguments{"operation": "create"})
		if err != nil {
			return err
		}
		ids[i] = made.record.InterpreterID
		code := fmt.Sprintf(sayer, k.truthOf(i)) + printers[i].code
		if _, err := callWith(ctx, c, runTool, arguments{"code": code, "interpreter_id": ids[i], "wait": 0.001}); err != nil {
			return err
		}
	}
	dying, over := context.WithCancel(ctx)
	calls.Go(func() error { // short runs, one after the other
		for {
			a, err := callWith(dying, c, runTool, arguments{"code": fmt.Sprintf("print('<%d>')", acknowledged)})
			if err != nil {
				return nil //nolint:nilerr // its server was killed
			}
			if a.record.Status != "ok" {
				return fmt.Errorf("a short run: %s", a.text)
			}
			acknowledged++
		}
	})
	time.Sleep(time.Duration(k.random.IntN(4_000)) * time.Millisecond)
	killed := time.Now()
	err = s.signal(killSignal)
	over()
	if err := errors.Join(err, calls.Wait(), s.gone()); err != nil {
		return err
	}
	return k.judge(ctx, ids, killed, acknowledged)
}

// serve starts a server and greets it.
func (k *kills) serve(ctx context.Context, http bool) (*server, *client.Client, error) {
	if !http {
		s, err := k.startServer(ctx, 1)
		if err != nil {
			return nil, nil, err
		}
		return s, s.client, nil
	}
	m := &market{soak: k.soak, socket: filepath.Join(filepath.Dir(k.place.data), fmt.Sprintf("s%d", k.servers))}
	m.server = k.newServer("--transport", "http", "--socket", m.socket, "--max-requests-per-second", "0",
		"--sandbox", "off") // what the printers note is not to be where the server clears up
	c := m.newCustomer(legacyHTTP, k.random)
	if err := errors.Join(m.listen(ctx), c.connect(ctx)); err != nil {
		return nil, nil, errors.Join(err, k.explain(m.server))
	}
	return m.server, c.client, nil
}

func (k *kills) truthOf(printer int) string {
	return filepath.Join(k.place.temp, fmt.Sprintf("printed-%d", printer))
}

// judge compares what the journal has of the newest server's runs with what they did.
func (k *kills) judge(ctx context.Context, ids []string, killed time.Time, acknowledged int) error {
	r, err := journal.OpenReader(filepath.Join(k.place.data, "journal.db"))
	if err != nil {
		return err
	}
	defer func() { _ = r.Close() }() // it was only read
	run, err := r.Run(ctx, "")
	if err != nil {
		return err
	}
	found, err := r.Executions(ctx, journal.Query{Run: run.ID, Detail: true})
	if err != nil {
		return err
	}
	short := 0
	var wrong error
	for _, e := range found {
		i := slices.IndexFunc(ids, func(id string) bool {
			return strings.HasPrefix(e.Place.InterpreterID, id+"-") || e.Place.InterpreterID == id
		})
		switch {
		case i >= 0:
			k.total++
			wrong = errors.Join(wrong, k.judgeLost(e, i, killed))
			ids[i] = ""
		case e.Status == sessions.StatusOK:
			if want := fmt.Sprintf("<%d>\n", short); e.Detail == nil || e.Detail.Stdout.Text != want {
				wrong = errors.Join(wrong, fmt.Errorf("short run %d: %+v", short, e.Detail))
			}
			short++
		}
	}
	if short < acknowledged {
		wrong = errors.Join(wrong, fmt.Errorf("%d short runs were answered, and the journal has %d", acknowledged, short))
	}
	for i, id := range ids {
		if id != "" {
			wrong = errors.Join(wrong, fmt.Errorf("the journal does not have the run of %s", printers[i].name))
		}
	}
	return wrong
}

var numbered = regexp.MustCompile(`<(\d+)>`)

// judgeLost holds what is left of a printer's run against what it noted.
func (k *kills) judgeLost(e journal.Execution, printer int, killed time.Time) error {
	p := printers[printer]
	text := ""
	if e.Detail != nil {
		text = e.Detail.Stdout.Text
	}
	next, cut := 0, strings.Contains(text, "characters truncated]")
	for i, found := range numbered.FindAllStringSubmatch(text, -1) {
		n, _ := strconv.Atoi(found[1]) // digits
		if i == 0 && cut && p.flood {
			next = n
		}
		if n != next {
			return fmt.Errorf("%s: after %d comes %d", p.name, next-1, n)
		}
		next++
	}
	noted, err := os.ReadFile(k.truthOf(printer))
	if errors.Is(err, fs.ErrNotExist) { // it was killed before it began
		return nil
	}
	if err != nil {
		return err
	}
	for line := range strings.Lines(string(noted)) {
		var n int
		var at int64
		if _, err := fmt.Sscan(line, &n, &at); err != nil || n < next {
			continue // it is there, or its process was killed while it noted that
		}
		old := killed.Sub(time.Unix(0, at))
		if old > k.worst {
			k.worst, k.ofWhat = old, p.name
		}
		if old > k.options.late {
			return fmt.Errorf("%s: %d was printed %s before its server was killed, and is lost (status %s, %d characters are left)", p.name, n, old, e.Status, len(text))
		}
		break
	}
	return nil
}
