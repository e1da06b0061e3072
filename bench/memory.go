package main

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// heavyImports are what most sessions of the kind import.
const heavyImports = "import numpy, pandas, matplotlib.pyplot"

// memoryRounds is how many processes are measured: what they use varies little.
const memoryRounds = 3

// usage is what one process uses.
type usage struct{ proportional, private float64 }

func usageOf(pid int) (u usage, err error) {
	if u.proportional, err = proportional(pid); err != nil {
		return u, err
	}
	u.private, err = private(pid)
	return u, err
}

// usages are those of several processes of one kind.
type usages struct{ proportional, private values }

func (m *usages) add(u usage) {
	m.proportional = append(m.proportional, u.proportional)
	m.private = append(m.private, u.private)
}

// sessionMemory is what idle sessions of one kind use.
type sessionMemory struct{ bare, loaded usages }

func (m *sessionMemory) add(bare, loaded usage) {
	m.bare.add(bare)
	m.loaded.add(loaded)
}

// serverMemory is what the server needs beside its sessions.
type serverMemory struct{ server, guard values }

// forkedMemory is what a server uses that forks its sessions: before there is
// one, and by how much that grows with the first.
type forkedMemory struct{ before, session values }

// measureMemory measures what one idle session uses, each in a fresh process.
func measureMemory(ctx context.Context, b *bench) error {
	if !canMeasureMemory() {
		progress("memory is measured on Linux only")
		return nil
	}
	var workers, kernels sessionMemory
	var servers serverMemory
	var forked forkedMemory
	for range min(memoryRounds, b.rounds) {
		if err := measureWorkerMemory(ctx, b, &workers, &servers); err != nil {
			return err
		}
		if err := forked.measure(ctx, b); err != nil {
			return err
		}
		if err := measureKernelMemory(ctx, b, &kernels); err != nil {
			return err
		}
	}
	b.report.add(forkedTable(forked, kernels))
	b.report.add(memoryTable(workers, kernels))
	b.report.add(serverTable(servers))
	return nil
}

func forkedTable(forked forkedMemory, kernels sessionMemory) table {
	return table{
		title: "Memory of one idle session, as the server starts it by default",
		note: "After `" + heavyImports + "`, proportional (PSS) over the server and all its processes: shared pages count once. " +
			"What the session shares with the zygote is in the first row. A kernel's private memory is what it shares with nobody: " +
			"what one more of them costs at least.",
		unit: size,
		rows: []row{
			{name: "understudy: server, root and zygote, before the first session", values: forked.before},
			{"understudy: the session, with its copies for a crash and for an undo", forked.session, kernels.loaded.private, "ipykernel, private"},
			{name: "ipykernel: private", values: kernels.loaded.private},
			{name: "ipykernel: proportional", values: kernels.loaded.proportional},
		},
	}
}

func memoryTable(workers, kernels sessionMemory) table {
	compared := func(name string, worker, kernel values) []row {
		return []row{
			{"understudy's worker: " + name, worker, kernel, "ipykernel"},
			{name: "ipykernel: " + name, values: kernel},
		}
	}
	t := table{
		title: "Memory of one idle session, with `--start spawn`",
		note:  "Each in a fresh process, after `1+1`; \"imports\" is after `" + heavyImports + "`. Proportional (PSS): pages shared with other processes count in parts.",
		unit:  size,
	}
	t.rows = append(t.rows, compared("proportional, bare", workers.bare.proportional, kernels.bare.proportional)...)
	t.rows = append(t.rows, compared("proportional, imports", workers.loaded.proportional, kernels.loaded.proportional)...)
	return t
}

func serverTable(servers serverMemory) table {
	t := table{
		title: "Memory of the server beside one idle session",
		note:  "Once for all sessions, resident. The guard, a bare Python, ends the sessions' processes when the server is killed.",
		unit:  size,
		rows:  []row{{name: "understudy: the server", values: servers.server}},
	}
	if len(servers.guard) > 0 {
		t.rows = append(t.rows, row{name: "understudy: its guard", values: servers.guard})
	}
	return t
}

func measureWorkerMemory(ctx context.Context, b *bench, sessions *sessionMemory, servers *serverMemory) (err error) {
	s, err := startServer(ctx, b, spawning...)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.close()) }()
	if _, err := s.sum(""); err != nil {
		return err
	}
	pid, err := s.workerPID()
	if err != nil {
		return err
	}
	if err := servers.read(s.cmd.Process.Pid); err != nil {
		return err
	}
	bare, err := usageOf(pid)
	if err != nil {
		return err
	}
	if _, err := s.run(heavyImports); err != nil {
		return err
	}
	loaded, err := usageOf(pid)
	sessions.add(bare, loaded)
	return err
}

func (s *server) workerPID() (int, error) {
	r, err := s.run("__import__('os').getpid()")
	if err != nil {
		return 0, err
	}
	return strconv.Atoi(strings.TrimSpace(r.Record.Stdout))
}

// measure adds a fresh server, whose zygote is warm, and its first session.
func (f *forkedMemory) measure(ctx context.Context, b *bench) (err error) {
	s, err := startWarmServer(ctx, b)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.close()) }()
	before, _, err := familyMemory(s.cmd.Process.Pid)
	if err != nil {
		return err
	}
	for _, code := range []string{heavyImports, "1+1"} { // two calls: a copy for a crash, and one for an undo
		if _, err := s.run(code); err != nil {
			return err
		}
	}
	if err := s.awaitCopies(ctx); err != nil {
		return err
	}
	after, _, err := familyMemory(s.cmd.Process.Pid)
	f.before, f.session = append(f.before, before), append(f.session, after-before)
	return err
}

func (m *serverMemory) read(pid int) error {
	used, err := resident(pid)
	if err != nil {
		return err
	}
	m.server = append(m.server, used)
	guards, err := childrenOf(pid, "--root")
	if err != nil || len(guards) == 0 {
		return err
	}
	used, err = resident(guards[0])
	m.guard = append(m.guard, used)
	return err
}

func measureKernelMemory(ctx context.Context, b *bench, sessions *sessionMemory) (err error) {
	jupyter, err := startIPykernel(ctx, b)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, jupyter.close()) }()
	started, err := jupyter.ask(order{Do: "start", Transport: "tcp"})
	if err != nil {
		return err
	}
	bare, err := usageOf(started.PID)
	if err != nil {
		return err
	}
	if _, err := jupyter.ask(order{Do: "run", Code: heavyImports, Count: 1}); err != nil {
		return fmt.Errorf("importing: %w", err)
	}
	loaded, err := usageOf(started.PID)
	sessions.add(bare, loaded)
	return err
}
