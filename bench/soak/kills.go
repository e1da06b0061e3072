package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

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
	worst  time.Duration // how long before its server's death the first print was that is lost
	ofWhat string
	total  int // runs that the journal was asked for
}

// killServers kills as many servers as were asked for, each at a random moment.
func (k *soak) killServers() {
	all := &kills{soak: k}
	var wrong error
	for i := 1; i <= k.kills && k.ctx.Err() == nil; i++ {
		if err := guard(func() { all.once(i%2 == 0) }); err != nil {
			wrong = errors.Join(wrong, fmt.Errorf("kill %d: %w", i, err))
		}
		k.counts.add("servers killed", 1)
		if i%20 == 0 || i == k.kills {
			fmt.Fprintf(k.out, "%d servers killed with %d runs; the oldest print that was lost was %s old (%s)\n", i, all.total, all.worst.Round(time.Millisecond), all.ofWhat)
		}
	}
	fail(wrong, context.Cause(k.ctx))
}

// once kills one server, on stdio or HTTP, while all printers are at work.
func (k *kills) once(network bool) {
	var s *server
	var l *link
	if network {
		s = k.startServer(true, "--sandbox", "off") // what the printers note is not to be where the server clears up
		l = s.connect(legacyHTTP)
	} else {
		s = k.startServer(false)
		l = s.stdio
	}
	ids := make([]string, len(printers))
	for i, p := range printers {
		fail(os.RemoveAll(k.truthOf(i))) // of the server before
		ids[i] = must(l.call(k.ctx, manageTool, arguments{"operation": "create"})).record.InterpreterID
		code := fmt.Sprintf(sayer, k.truthOf(i)) + p.code
		must(l.call(k.ctx, runTool, arguments{"code": code, "interpreter_id": ids[i], "wait": 0.001}))
	}
	dying, over := context.WithCancel(k.ctx)
	defer over()
	acknowledged := 0
	var calls errgroup.Group
	calls.Go(func() error { // short runs, one after the other
		for {
			a, err := l.call(dying, runTool, arguments{"code": fmt.Sprintf("print('<%d>')", acknowledged)})
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
	err := guard(func() { s.signal(syscall.SIGKILL) })
	over()
	fail(err, calls.Wait())
	k.judge(ids, killed, acknowledged)
}

func (k *kills) truthOf(printer int) string { return k.path("tmp", fmt.Sprintf("printed-%d", printer)) }

// judge compares what the journal has of the newest server's runs with what they did.
func (k *kills) judge(ids []string, killed time.Time, acknowledged int) {
	r := must(journal.OpenReader(k.path("data", "journal.db")))
	defer func() { _ = r.Close() }() // it was only read
	run := must(r.Run(k.ctx, ""))
	short := 0
	var wrong []error
	for _, e := range must(r.Executions(k.ctx, journal.Query{Run: run.ID, Detail: true})) {
		text := ""
		if e.Detail != nil {
			text = e.Detail.Stdout.Text
		}
		id, _, _ := strings.Cut(e.Place.InterpreterID, "-") // the journal tells those of one name apart
		switch i := slices.Index(ids, id); {
		case i >= 0:
			k.total++
			ids[i] = ""
			if err := k.judgeLost(text, i, killed); err != nil {
				wrong = append(wrong, fmt.Errorf("%s: %w (status %s, %d characters are left)", printers[i].name, err, e.Status, len(text)))
			}
		case e.Status == sessions.StatusOK:
			wrong = append(wrong, same("a short run's output", text, fmt.Sprintf("<%d>\n", short)))
			short++
		}
	}
	if short < acknowledged {
		wrong = append(wrong, fmt.Errorf("%d short runs were answered, and the journal has %d", acknowledged, short))
	}
	for i, id := range ids {
		if id != "" {
			wrong = append(wrong, fmt.Errorf("the journal does not have the run of %s", printers[i].name))
		}
	}
	fail(wrong...)
}

var numbered = regexp.MustCompile(`<(\d+)>`)

// judgeLost holds what is left of a printer's run against what it noted.
func (k *kills) judgeLost(text string, printer int, killed time.Time) error {
	next, cut := 0, strings.Contains(text, "characters truncated]")
	for i, found := range numbered.FindAllStringSubmatch(text, -1) {
		n, _ := strconv.Atoi(found[1]) // digits
		if i == 0 && cut && printers[printer].flood {
			next = n
		}
		if n != next {
			return fmt.Errorf("after %d comes %d", next-1, n)
		}
		next++
	}
	noted, err := os.ReadFile(k.truthOf(printer))
	if errors.Is(err, fs.ErrNotExist) { // it was killed before it began
		return nil
	}
	for line := range strings.Lines(string(noted)) {
		var n int
		var at int64
		if _, err := fmt.Sscan(line, &n, &at); err != nil || n < next {
			continue // it is there, or its process was killed while it noted that
		}
		old := killed.Sub(time.Unix(0, at))
		if old > k.worst {
			k.worst, k.ofWhat = old, printers[printer].name
		}
		if old > k.late {
			return fmt.Errorf("%d was printed %s before its server was killed, and is lost", n, old)
		}
		break
	}
	return err
}
