package attach

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"time"

	"understudy/sessions"
)

const (
	// firstWait is how long the first call waits, in seconds: until then quick code
	// has ended, and what slow code prints is shown.
	firstWait = 0.2
	// nextWait is how long the further ones wait: new output is shown that often.
	nextWait = 0.5
	// turnWait is how long a call waits for its turn before it is made again.
	turnWait = 1
)

// run runs code and shows what comes of it. Its error is the end of the prompt.
func (p *prompt) run(ctx context.Context, code string) error {
	p.forgetInterrupt()
	p.out.expectNothing()
	r, err := p.begin(ctx, code)
	for err == nil && r.Status.Runs() {
		r, err = p.next(ctx)
	}
	var refusal refused
	switch {
	case errors.Is(err, errInterrupted):
		p.leaveLine() // after the ^C
		fmt.Fprintln(p.notes, "KeyboardInterrupt; the code did not run")
		return nil
	case errors.As(err, &refusal):
		p.out.freshLine()
		p.out.print(strings.TrimRight(string(refusal), "\n") + "\n")
		if strings.Contains(string(refusal), " not found; ") {
			return errors.New("the interpreter has ended")
		}
		return nil
	case err != nil && ctx.Err() == nil:
		return fmt.Errorf("the server has ended, or does not answer: %w", err)
	}
	return nil
}

var isBusy = regexp.MustCompile(`is busy: (.*?)( \(limit [^)]*\))?(, and waits for a line of input at "(?:[^"\\]|\\.)*")?; `)

// begin has the code run once its turn comes, and says what it waits for.
func (p *prompt) begin(ctx context.Context, code string) (*sessions.Result, error) {
	args := map[string]any{"interpreter_id": p.id, "code": code, "wait": firstWait}
	for told := false; ; told = true {
		r, err := p.show(ctx, "run_python_code", args)
		busy := isBusy.FindStringSubmatch(fmt.Sprint(err))
		if err == nil || busy == nil {
			return r, err
		}
		if !told {
			fmt.Fprintf(p.notes, "[%s; waiting, Ctrl-C gives up]\n", busy[1]+busy[3])
		}
		args["wait"] = turnWait
		pause := time.Duration(0)
		if busy[3] != "" { // such a call is answered at once
			pause = turnWait * time.Second
		}
		select {
		case <-p.interrupts:
			return nil, errInterrupted
		case <-time.After(pause):
		}
	}
}

// next waits for more of the code that runs. Ctrl-C interrupts it, which is told by
// its result.
func (p *prompt) next(ctx context.Context) (*sessions.Result, error) {
	select {
	case <-p.interrupts:
		if err := p.interrupt(ctx); err != nil {
			return nil, err
		}
	default:
	}
	return p.show(ctx, "manage_interpreters", map[string]any{"operation": "wait", "interpreter_id": p.id, "wait": nextWait})
}

// interrupt stops the code.
func (p *prompt) interrupt(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	_, err := p.agent.call(ctx, "manage_interpreters", map[string]any{"operation": "interrupt", "interpreter_id": p.id}, &struct{}{})
	return err
}

// forgetInterrupt forgets a Ctrl-C that came when nothing ran.
func (p *prompt) forgetInterrupt() {
	select {
	case <-p.interrupts:
	default:
	}
}

// show calls a tool and prints its answer.
func (p *prompt) show(ctx context.Context, tool string, args map[string]any) (*sessions.Result, error) {
	var r sessions.Result
	if _, err := p.agent.call(ctx, tool, args, &r); err != nil {
		return nil, err
	}
	p.out.print(printed(&r))
	if !r.Status.Runs() {
		p.showEnd(&r)
	}
	return &r, nil
}

// printed is what the code printed, in the order in which it came. The traceback below it
// and the line about its time are ours.
func printed(r *sessions.Result) string {
	term := r.TermOut
	if len(term) == 0 {
		return r.Stdout + r.Stderr
	}
	if last := len(term) - 1; !r.Status.Runs() {
		term = term[:last]
	}
	if last := len(term) - 1; last >= 0 && r.ErrorText() != "" {
		term = term[:last]
	}
	return strings.Join(term, "")
}

// showEnd prints what an answer has beside output.
func (p *prompt) showEnd(r *sessions.Result) {
	for i, figure := range r.Figures {
		p.say("[figure %d] %d×%d, %s", i+1, figure.Width, figure.Height, figure.Path)
	}
	if text := r.ErrorText(); text != "" {
		p.say("%s", strings.TrimRight(text, "\n"))
	}
	if r.Status == sessions.StatusTimeout {
		p.say("%s", r.TimeLine())
	}
	if r.InterpreterRestarted || r.RestartReason != "" {
		state := "its variables are lost"
		switch {
		case r.StateRestored != nil && *r.StateRestored:
			state = "its variables are as they were before this run"
		case r.StateBefore > 0:
			state = fmt.Sprintf("its variables are as they were before execution %d", r.StateBefore)
		}
		if r.RestartedBeforeRun {
			state += "; what this run did is kept"
		}
		p.say("[restarted] %s; %s", strings.TrimRight(r.RestartReason, "."), state)
	}
	for _, note := range r.Notes {
		p.say("[note] %s", note)
	}
}

// say prints a line of its own.
func (p *prompt) say(format string, args ...any) {
	p.out.freshLine()
	p.out.print(fmt.Sprintf(format, args...) + "\n")
}
