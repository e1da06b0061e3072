package e2e

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"understudy/internal/connect"
)

// attach sits down at a terminal with a prompt in one of the desk's interpreters.
func (d *desk) attach(args ...string) *promptAt {
	d.t.Helper()
	w := &promptAt{terminal: newTerminal(d.t, 120, 40, append([]string{"attach", "--data-dir", d.data}, args...)...)}
	screen := w.until("Ctrl-D leaves", ">>>")
	w.sign = screen[strings.LastIndexByte(screen, '\n')+1:]
	return w
}

// promptAt is a terminal with a prompt, which looks like sign.
type promptAt struct {
	*terminal
	sign string
}

// enter types lines.
func (w *promptAt) enter(lines ...string) {
	for _, line := range lines {
		if line != "" {
			w.press("-l", line)
		}
		w.press("Enter")
	}
}

// TestAttach is a person at a prompt in the interpreter of an agent on stdio.
func TestAttach(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	agent := d.stdio()
	d.value(agent, "x = 41", "x")

	w := d.attach()
	w.until("of stdio, in")
	w.enter("x + 1")
	w.until("\n42\n")
	w.enter("def twice(n):", "    return n * 2", "", "twice(x + 9)")
	w.until("... ", "\n100\n")
	w.enter(`1 / 0`)
	w.until("ZeroDivisionError: division by zero")
	w.enter(`print("to the screen", end="")`)
	w.until("to the screen\n")
	w.enter("garbage(")
	w.until("... ")
	w.press("C-c")
	w.until("\nKeyboardInterrupt\n")
	w.enter(`name = input("who is there?")`)
	w.until("\nwho is there?")
	w.enter("Ada")
	w.until("\nwho is there? Ada\n" + w.sign)
	w.enter(`"hello " + name`)
	w.until("\n'hello Ada")
	w.enter(`while True: print("endless", flush=True) if "said" not in globals() else None; said = 1`, "")
	w.until("\nendless")
	w.press("C-c")
	w.until(`while True:`, "said = 1\n", "KeyboardInterrupt")
	w.enter("x")
	w.until("\n41\n" + w.sign)

	// The agent hears of it once, and its state is what the person left.
	_, text := run(t, agent.Client, "twice(x)")
	if !strings.Contains(text, "82") || !strings.Contains(text, "a person ran executions 2 to 10") || !strings.Contains(text, "twice, name, said") {
		t.Errorf("the agent is told: %s", text)
	}
	if _, text = run(t, agent.Client, "x"); strings.Contains(text, "a person") {
		t.Errorf("it is told again: %s", text)
	}
	w.press("C-d")
	w.until("exit status 0")

	// What was typed is there the next time.
	w = d.attach()
	w.press("Up")
	w.until(">>> x")
	w.press("Up")
	w.until(`>>> while True: print`)
	w.press("C-c")
	w.until("\nKeyboardInterrupt\n" + w.sign)
	w.press("C-d")
	w.until("exit status 0")
}

// TestAttachTakesTurns has the agent's code run while the person types, and the
// other way round.
func TestAttachTakesTurns(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	agent := d.stdio()
	run(t, agent.Client, "order = []")
	w := d.attach()
	run(t, agent.Client, d.untilGo()+"\norder.append('agent')", "wait", 0.01)
	w.enter("order.append('given up')")
	w.until("execution 2 has been running for", "waiting, Ctrl-C gives up]")
	w.press("C-c")
	w.until("the code did not run")
	w.enter("order.append('person'); order")
	w.until("; order\n[execution 2 has been running")
	d.goOn()
	w.until("['agent', 'person']")
	// The agent's answer is still the agent's.
	record, _ := manage(t, agent.Client, "wait")
	expect(t, record["execution"] == 2.0 && record["status"] == "ok", "the agent waits for its run and gets %v", record)
	must(t, os.Remove(filepath.Join(d.project, "go")))
	for _, line := range strings.Split(d.untilGo(), "\n") {
		w.enter(line)
	}
	w.enter("")

	comesTrue(t, "the person's code runs", func() bool { return interpreters(t, agent.Client)[0]["status"] == "busy" })
	refused(t, agent.Client, "a person has been running execution 5 in it for", "run_python_code", "code", "1", "wait", 0.01)
	refused(t, agent.Client, "nothing of yours is running", "manage_interpreters", "operation", "wait")
	d.goOn()
	w.enter("'ov' + 'er'")
	w.until("\n'over'\n" + w.sign)
	w.press("C-d")
	w.until("exit status 0")
}

// TestAttachShowsFigures has figures as files.
func TestAttachShowsFigures(t *testing.T) {
	t.Parallel()
	if err := exec.Command(python(), "-c", "import matplotlib").Run(); err != nil {
		t.Skip("there is no matplotlib here")
	}
	d := newDesk(t)
	agent := d.stdio()
	d.value(agent, "x = 1", "x")
	said := d.script("import matplotlib.pyplot as plt; _ = plt.plot([1, 2])\n%%time\nx = 5\n\nx\n")
	path := regexp.MustCompile(`(?m)^\[figure 1\] [0-9]+×[0-9]+, (/.*\.png)$`).FindStringSubmatch(said)
	insist(t, path != nil, "%v", said)
	_, err := os.Stat(path[1])
	expect(t, err == nil, "%v", err)
}

// TestAttachFindsTheInterpreter has several to choose from, and none.
func TestAttachFindsTheInterpreter(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	refused := func(want string, args ...string) {
		t.Helper()
		fails(t, d.command(append([]string{"attach"}, args...)...), want)
	}
	refused("no server is running here")
	agent := d.enter("editor")
	refused("1 server here, without an interpreter so far")
	d.value(agent, "who = 1", "who")
	d.says("1\n", "who\n")
	id := create(t, agent.Client)
	run(t, agent.Client, "who = 2", "interpreter_id", id)
	refused("several interpreters are running; name one")
	refused(id)
	refused(`has an interpreter "nobody's"`, "nobody's")
	d.says("2\n", "who\n", id)
	// Another client's of the same name is told from it by its key.
	other := d.enter("another")
	d.value(other, "who = 3", "who")
	key := regexp.MustCompile(`(?m)^  (py1-[0-9a-f]{6}) +connect:another:1, `)
	listed, _ := finish(d.command("attach", "py1"))
	if found := key.FindStringSubmatch(listed); found == nil {
		t.Errorf("it is not listed: %s", listed)
	} else {
		d.says("3\n", "who\n", found[1])
	}
	// One of another directory's server is not taken for this one's.
	project := d.project
	d.project = t.TempDir()
	elsewhere := d.enter("editor")
	d.value(elsewhere, "who = 4", "who")
	d.says("4\n", "who\n")
	_ = elsewhere.Close()
	d.project = project
}

// TestAttachOverHTTP is the operator's prompt in an interpreter of somebody's whom
// only an id would lead there.
func TestAttachOverHTTP(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	c := ways[0].connect(t, listen(t, d.command("serve", "--transport", "http", "--addr", "127.0.0.1:0", "--sandbox", "off")))
	record, _ := run(t, c, "x = 41")
	d.says("42\n", "x + 1\n")
	record, _ = run(t, c, "x", "interpreter_id", record["interpreter_id"])
	expect(t, strings.Contains(fmt.Sprint(record["stdout"], record["term_out"]), "41"), "%v", record)
}

// script has attach read lines that are no person's, and returns what it prints.
func (d *desk) script(lines string, args ...string) string {
	d.t.Helper()
	cmd := d.command(append([]string{"attach"}, args...)...)
	var notes strings.Builder
	cmd.Stdin, cmd.Stderr = strings.NewReader(lines), &notes
	said, err := cmd.Output()
	insist(d.t, err == nil, "%v: %s%s", err, said, &notes)
	return string(said)
}

// says expects that attach prints just this for some lines.
func (d *desk) says(want, lines string, args ...string) {
	d.t.Helper()
	said := d.script(lines, args...)
	expect(d.t, said == want, "attach %q prints %q, not %q", args, said, want)
}

// stdio is an agent with a server of its own.
func (d *desk) stdio() *member {
	d.t.Helper()
	m, err := d.tryToRun("agent", "serve")
	insist(d.t, err == nil, "%v\n%s", err, m.log)
	d.t.Cleanup(func() { _ = m.Close() })
	comesTrue(d.t, "the server can be attached to", func() bool { return len(connect.Running(d.data)) > 0 })
	return m
}
