package main

import (
	"context"
	"errors"
	"os/exec"
	"time"
)

// measureStarts measures the time from nothing to the first answer. Files are
// in the system's cache by then: the round that warms up reads them.
func measureStarts(ctx context.Context, b *bench) (err error) {
	jupyter, err := startIPykernel(ctx, b)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, jupyter.close()) }()
	running, err := startWarmServer(ctx, b)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, running.close()) }()

	all, err := rounds(b.rounds, []contender{
		{"python -c pass", func() (float64, error) { return barePython(ctx, b) }},
		{"understudy, new server", func() (float64, error) { return coldServer(ctx, b) }},
		{"understudy, new session", func() (float64, error) { return newSession(running) }},
		{"ipykernel", func() (float64, error) { return newKernel(jupyter, "1+1", "2") }},
	})
	if err != nil {
		return err
	}
	kernel := all[3]
	b.report.add(table{
		title: "Start to first answer",
		note: "The answer is that of `1+1`. In a new server the call comes before the zygote is warm, and shares the machine with its imports. " +
			"jupyter_client's own import is not counted, and about 0.2 s of ipykernel's time " +
			"is jupyter_client's wait for a silent output channel in `start_new_kernel`.",
		unit: seconds,
		rows: []row{
			{name: "floor: `python -c pass`", values: all[0]},
			{"understudy: new server, `initialize`, `1+1`", all[1], kernel, "ipykernel"},
			{"understudy: new session in a running server, `1+1`", all[2], kernel, "ipykernel"},
			{name: "ipykernel: `start_new_kernel`, `1+1`", values: kernel},
		},
	})
	return nil
}

func barePython(ctx context.Context, b *bench) (float64, error) {
	began := time.Now()
	err := exec.CommandContext(ctx, b.python, "-c", "pass").Run()
	return time.Since(began).Seconds(), err
}

func coldServer(ctx context.Context, b *bench) (float64, error) {
	began := time.Now()
	s, err := startServer(ctx, b)
	if err != nil {
		return 0, err
	}
	_, err = s.sum("")
	took := time.Since(began).Seconds()
	return took, errors.Join(err, s.close())
}

// newSession leaves no session behind: deleting it is not counted.
func newSession(s *server) (float64, error) {
	began := time.Now()
	id, err := s.create()
	if err != nil {
		return 0, err
	}
	_, err = s.sum(id)
	took := time.Since(began).Seconds()
	return took, errors.Join(err, s.remove(id))
}
