package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"
)

// crashCode ends the process that runs it, as the kernel does when memory runs out.
const crashCode = "import os\nos.kill(os.getpid(), 9)"

// bytesOfObject is what an item of heapOfObjects needs: a list of one, its
// header for the collector, its slot, and a number (measured in Python 3.11).
const bytesOfObject = 120

// heap is what a session holds when it crashes.
type heap struct {
	kind, amount string
	bytes        float64
}

var heaps = []heap{
	{"arrays", "10 MB", 10e6}, {"arrays", "500 MB", 500e6}, {"arrays", "2 GB", 2e9},
	{"small objects", "10 MB", 10e6}, {"small objects", "500 MB", 500e6},
}

func (h heap) name() string { return h.amount + " of " + h.kind }

func bySize(a, b heap) int { return cmp.Compare(a.bytes, b.bytes) }

func (h heap) items() int {
	if h.kind == "arrays" {
		return int(h.bytes) / 8
	}
	return int(h.bytes) / bytesOfObject
}

// code makes the heap and prints a sum that shows it is whole; checkCode prints
// it again.
func (h heap) code() string {
	if h.kind == "arrays" {
		return fmt.Sprintf("import numpy as np\nheap = np.ones(%d)\n%s", h.items(), h.checkCode())
	}
	return fmt.Sprintf("heap = [[i] for i in range(%d)]\n%s", h.items(), h.checkCode())
}

func (h heap) checkCode() string {
	if h.kind == "arrays" {
		return "print(int(heap.sum()))"
	}
	return "print(sum(map(len, heap)))"
}

func (h heap) checked() string { return fmt.Sprintf("%d\n", h.items()) }

// crashes are those of one session.
type crashes struct {
	heap
	ctx    context.Context
	server *server
	id     string
	count  int
}

// measureCrashes measures the time from a crash to the next answer.
func measureCrashes(ctx context.Context, b *bench) (err error) {
	if !needsFork("crash") {
		return nil
	}
	s, err := startWarmServer(ctx, b)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.closeWithin(longestClose)) }()
	jupyter, err := startIPykernel(ctx, b)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, jupyter.close()) }()
	if _, err := jupyter.ask(order{Do: "start", Transport: "tcp", Code: readyCode}); err != nil {
		return err
	}
	all, err := startCrashes(ctx, s)
	if err != nil {
		return err
	}
	times, err := rounds(b.rounds, append(crashContenders(all), contender{"ipykernel", func() (float64, error) { return crashKernel(jupyter) }}))
	if err != nil {
		return err
	}
	for _, c := range all {
		if _, err := s.expect(c.id, c.checkCode(), c.checked()); err != nil {
			return fmt.Errorf("%s, after all crashes: %w", c.name(), err)
		}
	}
	b.report.add(crashTable(all, times))
	return nil
}

func startCrashes(ctx context.Context, s *server) ([]*crashes, error) {
	var all []*crashes
	for _, h := range heaps {
		id, err := s.create()
		if err != nil {
			return nil, err
		}
		if _, err := s.expect(id, h.code(), h.checked()); err != nil {
			return nil, fmt.Errorf("%s: %w", h.name(), err)
		}
		all = append(all, &crashes{heap: h, ctx: ctx, server: s, id: id})
	}
	return all, nil
}

func crashContenders(all []*crashes) []contender {
	var contenders []contender
	for _, c := range all {
		contenders = append(contenders, contender{c.name(), c.once})
	}
	return contenders
}

// once crashes the session and calls it again. The variable that it looks for
// was changed by the call before the crash.
func (c *crashes) once() (float64, error) {
	c.count++
	if _, err := c.server.runIn(c.id, fmt.Sprintf("marker = %d", c.count)); err != nil {
		return 0, err
	}
	if err := c.server.awaitCopies(c.ctx); err != nil {
		return 0, err
	}
	began := time.Now()
	crashed, err := c.server.try("run_python_code", inInterpreter(c.id, crashCode))
	if err != nil {
		return 0, err
	}
	_, err = c.server.expect(c.id, "print(marker, len(heap))", fmt.Sprintf("%d %d\n", c.count, c.items()))
	took := time.Since(began).Seconds()
	if r := crashed.Record; r.Status != "crashed" || !r.Restarted || !r.StateRestored {
		return 0, fmt.Errorf("after a crash: %.2000s", crashed.raw)
	}
	return took, err
}

// crashKernel crashes a kernel, which has to be restarted and import again; its
// variables are lost.
func crashKernel(jupyter driver) (float64, error) {
	f, err := jupyter.ask(order{Do: "crash", Code: readyCode})
	if err == nil && f.Text != coldAnswer {
		err = fmt.Errorf("after the restart it printed %q", f.Text)
	}
	if err != nil {
		return 0, err
	}
	return f.Seconds[0], nil
}

func crashTable(all []*crashes, times []values) table {
	kernel := times[len(times)-1]
	t := table{
		title: "From a crash to the next answer",
		note: "A session that holds so much kills itself (SIGKILL) and is called again as soon as that is answered; the next answer shows the variables as they were. " +
			"ipykernel's manager learns of the death at once here, restarts the kernel, and runs the imports: its variables are lost, " +
			"whatever their size.",
		unit:  seconds,
		curve: crashCurve(all, times),
	}
	for i, c := range all {
		t.rows = append(t.rows, row{c.name(), times[i], kernel, "ipykernel"})
	}
	t.rows = append(t.rows, row{name: "ipykernel: restart, imports; state lost", values: kernel})
	return t
}

func crashCurve(all []*crashes, times []values) *curve {
	byKind := map[string]*line{}
	var kinds []string
	lost := line{Name: "ipykernel: restart, imports; state lost", Dashed: true}
	kernel := times[len(times)-1].median() * 1e3
	for i, c := range all {
		l := byKind[c.kind]
		if l == nil {
			l = &line{Name: "understudy, " + c.kind, Mark: true}
			byKind[c.kind], kinds = l, append(kinds, c.kind)
		}
		l.add(c.bytes/1e6, times[i].median()*1e3)
		l.Low, l.High = append(l.Low, times[i].least()*1e3), append(l.High, times[i].most()*1e3)
	}
	for _, edge := range []heap{slices.MinFunc(heaps, bySize), slices.MaxFunc(heaps, bySize)} {
		lost.add(edge.bytes/1e6, kernel)
	}
	drawing := &curve{
		File: "bench-crash.svg", Title: "From a crash to the next answer by size of the heap",
		X: axis{"heap (MB)", true}, Y: axis{"time (ms)", true},
	}
	for _, kind := range kinds {
		drawing.Lines = append(drawing.Lines, *byKind[kind])
	}
	drawing.Lines = append(drawing.Lines, lost)
	return drawing
}
