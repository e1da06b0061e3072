package main

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"strings"
	"time"
)

//go:embed fork_driver.py
var forkDriver string

const (
	// readyCode is a first call that uses the usual libraries; it prints
	// whether they were there already, and readyAnswer.
	readyCode = `import sys
there = 'matplotlib.pyplot' in sys.modules
import numpy as np, pandas as pd, matplotlib.pyplot as plt
print(there, int(np.arange(10).sum()), len(pd.Series([1, 2, 3])), callable(plt.plot))`
	readyAnswer = "45 3 True\n"
	warmAnswer  = "True " + readyAnswer
	coldAnswer  = "False " + readyAnswer

	readyCalls      = 5 // new sessions in one round; ipykernel and the new server: 1
	wantedReadyGain = 100
	wantedForkShare = 3
)

// readySide is everything that gets a new Python with the usual imports ready.
type readySide struct {
	fork, frames, jupyter driver
	server                *server
	creates               values // what the first of the two calls took
	closers
}

// measureReady measures how long it takes until a new session has answered a
// call that uses numpy, pandas and matplotlib.
func measureReady(ctx context.Context, b *bench) (err error) {
	if !needsFork("ready") {
		return nil
	}
	r := &readySide{}
	defer func() { err = errors.Join(err, r.close()) }()
	if err := r.start(ctx, b); err != nil {
		return err
	}
	all, err := rounds(b.rounds, []contender{
		{"fork", func() (float64, error) { return medianOf(r.fork, order{Count: readyCalls}) }},
		{"frames", func() (float64, error) { return burst(readyCalls, r.newWorker) }},
		{"MCP", func() (float64, error) { return burst(readyCalls, r.newSession) }},
		{"new server", func() (float64, error) { return coldReady(ctx, b) }},
		{"ipykernel", func() (float64, error) { return newKernel(r.jupyter, readyCode, coldAnswer) }},
	})
	if err != nil {
		return err
	}
	r.report(b, all)
	return nil
}

func (r *readySide) report(b *bench, all []values) {
	fork, frames, session, server, kernel := all[0], all[1], all[2], all[3], all[4]
	b.report.add(table{
		title: "A new session with numpy, pandas and matplotlib",
		note: fmt.Sprintf("Until the answer of a call that imports the three and uses them. In a running server the zygote is warm; "+
			"in the new one the call comes while the zygote is still importing, so the session imports them itself. "+
			"The floor is `os.fork()` of a Python with the same imports, after `gc.freeze()`, until the fork has written a byte to a pipe. "+
			"One round's value is the median of %d (new server, ipykernel: 1).", readyCalls),
		unit: seconds,
		rows: []row{
			{name: "floor: a bare fork", values: fork},
			{"understudy: at the worker's frames, start and first run", frames, fork, "a bare fork"},
			{"understudy: MCP over stdio, `create` and the call", session, kernel, "ipykernel"},
			{name: "of that, `create` alone", values: r.creates[readyCalls:]}, // without the first round
			{"understudy: new server, `initialize`, the call", server, kernel, "ipykernel"},
			{name: "ipykernel: `start_new_kernel`, the call", values: kernel},
		},
	})
	for _, level := range []struct {
		name   string
		values values
	}{{"at the worker's frames", frames}, {"over MCP stdio", session}} {
		b.report.aim(atLeast("a new session with the imports, "+level.name+", against ipykernel", kernel.median()/level.values.median(), wantedReadyGain))
		b.report.aim(atMost("the same against a bare fork", level.values.median()/fork.median(), wantedForkShare))
	}
}

func (r *readySide) start(ctx context.Context, b *bench) (err error) {
	if r.fork, err = startScript(ctx, b, "fork_driver.py", forkDriver); err != nil {
		return err
	}
	r.later(r.fork.close)
	if r.frames, err = startFrames(ctx, b, "zygote"); err != nil {
		return err
	}
	r.later(r.frames.close)
	if r.server, err = startWarmServer(ctx, b); err != nil {
		return err
	}
	r.later(r.server.close)
	if r.jupyter, err = startIPykernel(ctx, b); err != nil {
		return err
	}
	r.later(r.jupyter.close)
	return eventually(ctx, func() (bool, error) {
		f, err := r.frames.ask(order{Do: "new", Code: readyCode})
		return f.Text == warmAnswer, err
	})
}

// newWorker starts a worker and runs the call in it, without MCP around it.
func (r *readySide) newWorker() (float64, error) {
	f, err := r.frames.ask(order{Do: "new", Code: readyCode})
	if err == nil && f.Text != warmAnswer {
		err = fmt.Errorf("the call printed %q, not %q", f.Text, warmAnswer)
	}
	if err != nil {
		return 0, err
	}
	return f.Seconds[0], nil
}

// newSession does the same over MCP. Deleting the session is not counted.
func (r *readySide) newSession() (float64, error) {
	began := time.Now()
	id, err := r.server.create()
	if err != nil {
		return 0, err
	}
	created := time.Since(began).Seconds()
	_, err = r.server.expect(id, readyCode, warmAnswer)
	took := time.Since(began).Seconds()
	r.creates = append(r.creates, created)
	return took, errors.Join(err, r.server.remove(id))
}

// coldReady is the first call of a new server.
func coldReady(ctx context.Context, b *bench) (float64, error) {
	began := time.Now()
	s, err := startServer(ctx, b)
	if err != nil {
		return 0, err
	}
	r, err := s.run(readyCode)
	took := time.Since(began).Seconds()
	if err == nil && !strings.HasSuffix(r.Record.Stdout, readyAnswer) {
		err = fmt.Errorf("the call printed %q", r.Record.Stdout)
	}
	return took, errors.Join(err, s.close())
}
