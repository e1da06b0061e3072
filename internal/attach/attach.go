// Package attach puts a person at a prompt in an interpreter of a running server,
// beside the agent whose it is. It is an MCP client, by the server's own socket and
// as its operator: what the code prints, its figures, its questions and an
// interrupt take the way that an agent's calls take.
package attach

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"understudy/internal/connect"
	"understudy/internal/phrase"
	"understudy/sessions"
)

// Options say where to attach, and to what.
type Options struct {
	DataDir   string
	Directory string // the interpreters of its server are preferred
	// ID names an interpreter: its name, or as much of its key as makes it
	// unmistakable; "" is the only one.
	ID      string
	Version string
	In      *os.File
	Out     io.Writer
	Notes   io.Writer // what is about the prompt, and not from the interpreter
}

// Run is the prompt, until the person leaves.
func Run(ctx context.Context, o Options) error {
	chosen, err := choose(ctx, o)
	if err != nil {
		return err
	}
	c := openConsole(o.In, o.Out, filepath.Join(o.DataDir, "attach_history"))
	a, err := dial(ctx, chosen.server, o.Version, c.ask)
	if err != nil {
		return err
	}
	defer a.close()
	p := &prompt{
		console: c, agent: a, name: chosen.ID, id: chosen.Key, notes: o.Notes,
		parser: newParser(pythonOf(chosen.PID)), interrupts: make(chan os.Signal, 1),
	}
	defer p.parser.close()
	signal.Notify(p.interrupts, os.Interrupt)
	defer signal.Stop(p.interrupts)
	ctx, stop := signal.NotifyContext(ctx, syscall.SIGTERM, syscall.SIGHUP)
	defer stop()
	p.greet(chosen)
	return p.loop(ctx)
}

// prompt is the conversation with the person.
type prompt struct {
	*console
	agent      *client
	name, id   string // of the interpreter, as its agent calls it and as leads there
	notes      io.Writer
	parser     *parser
	interrupts chan os.Signal // Ctrl-C, while the terminal passes it on
}

// greet says where the person is.
func (p *prompt) greet(c candidate) {
	fmt.Fprintf(p.notes, "Attached to interpreter %s of %s, in %s (Python %s, %s so far).\n",
		c.ID, c.Client, c.Workdir, c.Python, phrase.Count(c.Executions, "run"))
	fmt.Fprintln(p.notes, "What is typed here runs in the agent's own state, with its variables; its calls and yours take turns.")
	fmt.Fprintln(p.notes, "Ctrl-C interrupts the code, Ctrl-D leaves; the interpreter stays.")
}

// farewells leave the prompt, as they leave Python's own. The interpreter stays.
var farewells = []string{"exit", "exit()", "quit", "quit()"}

// loop reads code and runs it.
func (p *prompt) loop(ctx context.Context) error {
	for ctx.Err() == nil {
		code, err := p.readCode()
		switch {
		case errors.Is(err, errInterrupted):
			fmt.Fprintln(p.notes, "KeyboardInterrupt")
			continue
		case errors.Is(err, io.EOF):
			p.leaveLine()
			return nil
		case err != nil:
			return err
		case strings.TrimSpace(code) == "":
			continue
		case slices.Contains(farewells, strings.TrimSpace(code)):
			return nil
		}
		if err := p.run(ctx, code); err != nil {
			return err
		}
	}
	return nil
}

// readCode reads lines until they are whole, by Python's own judgement. What is
// pasted is one piece.
func (p *prompt) readCode() (string, error) {
	var lines []string
	for {
		prompt := p.sign(">>> ")
		if len(lines) > 0 {
			prompt = p.sign("... ")
		}
		line, pasted, err := p.line(prompt, true)
		if errors.Is(err, io.EOF) && len(lines) > 0 { // the end of a script
			return strings.Join(append(lines, line), "\n"), nil
		}
		if err != nil {
			return "", err
		}
		lines = append(lines, line)
		code := strings.Join(lines, "\n")
		if !pasted && (strings.TrimSpace(code) == "" || p.parser.isWhole(code)) {
			return code, nil
		}
	}
}

// sign is the prompt for an interpreter: long names are cut.
func (p *prompt) sign(end string) string {
	const most = 12
	name := p.name
	if len(name) > most {
		name = name[:8]
	}
	if end != ">>> " {
		name = strings.Repeat(" ", len(name))
	}
	return name + end
}

// candidate is an interpreter that one can attach to.
type candidate struct {
	sessions.Listing
	server connect.Found
}

// choose finds the interpreter that is meant. Those of a server in this directory
// are preferred.
func choose(ctx context.Context, o Options) (candidate, error) {
	servers := connect.Running(o.DataDir)
	if len(servers) == 0 {
		return candidate{}, fmt.Errorf("no server is running here (data directory %s); start your agent's client first", o.DataDir)
	}
	var all, here []candidate
	for _, server := range servers {
		listings, err := list(ctx, server, o.Version)
		if err != nil {
			fmt.Fprintf(o.Notes, "the server in %s (process %d) doesn't answer: %v\n", server.Directory, server.PID, err)
			continue
		}
		for _, l := range listings {
			one := candidate{l, server}
			if one.isNamed(o.ID) {
				all = append(all, one)
				if server.Directory == o.Directory {
					here = append(here, one)
				}
			}
		}
	}
	meant := all
	if len(here) > 0 {
		meant = here
	}
	switch {
	case len(meant) == 1:
		return meant[0], nil
	case len(all) == 0 && o.ID != "":
		return candidate{}, fmt.Errorf("no running server has an interpreter %q; understudy attach without one lists them", o.ID)
	case len(all) == 0:
		return candidate{}, fmt.Errorf("%s here, without an interpreter so far: one appears with the agent's first run", phrase.Count(len(servers), "server"))
	}
	return candidate{}, errors.New(table(meant))
}

// isNamed reports whether an id that a person typed may mean this interpreter.
func (c candidate) isNamed(id string) bool {
	return id == "" || id == c.ID || len(id) >= leastKey && strings.HasPrefix(c.Key, id)
}

// leastKey is how much of a key names an interpreter at least.
const leastKey = 6

// table lists interpreters of which one is to be named.
func table(all []candidate) string {
	var b strings.Builder
	b.WriteString("several interpreters are running; name one, as in: understudy attach " + all[0].shortName(all) + "\n")
	for _, c := range all {
		used := "last used " + phrase.Duration(time.Duration(c.Idle*float64(time.Second))) + " ago"
		if c.Running > 0 {
			used = "busy"
		}
		fmt.Fprintf(&b, "  %-14s %s, in %s, %s\n", c.shortName(all), c.Client, c.Workdir, used)
	}
	return strings.TrimRight(b.String(), "\n")
}

// shortName is the id alone where it is unmistakable.
func (c candidate) shortName(all []candidate) string {
	for _, other := range all {
		if other.ID == c.ID && other.Key != c.Key {
			return c.Key[:min(len(c.Key), len(c.ID)+1+leastKey)]
		}
	}
	return c.ID
}
