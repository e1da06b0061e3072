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
type usage struct{ resident, proportional float64 }

func usageOf(pid int) (usage, error) {
	r, err := resident(pid)
	if err != nil {
		return usage{}, err
	}
	p, err := proportional(pid)
	return usage{r, p}, err
}

// sessionMemory is what idle sessions of one kind use.
type sessionMemory struct{ bare, loaded, loadedPSS, barePSS values }

func (m *sessionMemory) add(bare, loaded usage) {
	m.bare, m.barePSS = append(m.bare, bare.resident), append(m.barePSS, bare.proportional)
	m.loaded, m.loadedPSS = append(m.loaded, loaded.resident), append(m.loadedPSS, loaded.proportional)
}

// serverMemory is what the server needs beside its sessions.
type serverMemory struct{ server, watchdog values }

// measureMemory measures what one idle session uses, each in a fresh process.
func measureMemory(ctx context.Context, b *bench) error {
	if !canMeasureMemory() {
		progress("memory is measured on Linux only")
		return nil
	}
	var workers, kernels sessionMemory
	var servers serverMemory
	for range min(memoryRounds, b.rounds) {
		if err := measureWorkerMemory(ctx, b, &workers, &servers); err != nil {
			return err
		}
		if err := measureKernelMemory(ctx, b, &kernels); err != nil {
			return err
		}
	}
	b.report.add(memoryTable(workers, kernels))
	b.report.add(serverTable(servers))
	return nil
}

func memoryTable(workers, kernels sessionMemory) table {
	compared := func(name string, worker, kernel values) []row {
		return []row{
			{"understudy's worker: " + name, worker, kernel, "ipykernel"},
			{name: "ipykernel: " + name, values: kernel},
		}
	}
	t := table{
		title: "Memory of one idle session",
		note:  "Each in a fresh process, after `1+1`; \"imports\" is after `" + heavyImports + "`. Proportional (PSS): pages shared with other processes count in parts.",
		unit:  size,
	}
	t.rows = append(t.rows, compared("resident, bare", workers.bare, kernels.bare)...)
	t.rows = append(t.rows, compared("proportional, bare", workers.barePSS, kernels.barePSS)...)
	t.rows = append(t.rows, compared("resident, imports", workers.loaded, kernels.loaded)...)
	t.rows = append(t.rows, compared("proportional, imports", workers.loadedPSS, kernels.loadedPSS)...)
	return t
}

func serverTable(servers serverMemory) table {
	t := table{
		title: "Memory of the server beside one idle session",
		note:  "Once for all sessions, resident. The watchdog ends the sessions' processes when the server is killed.",
		unit:  size,
		rows:  []row{{name: "understudy: the server", values: servers.server}},
	}
	if len(servers.watchdog) > 0 {
		t.rows = append(t.rows, row{name: "understudy: its watchdog", values: servers.watchdog})
	}
	return t
}

func measureWorkerMemory(ctx context.Context, b *bench, sessions *sessionMemory, servers *serverMemory) (err error) {
	s, err := startServer(ctx, b)
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

func (m *serverMemory) read(pid int) error {
	used, err := resident(pid)
	if err != nil {
		return err
	}
	m.server = append(m.server, used)
	watchdogs, err := childrenOf(pid, "watchdog")
	if err != nil || len(watchdogs) == 0 {
		return err
	}
	used, err = resident(watchdogs[0])
	m.watchdog = append(m.watchdog, used)
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
