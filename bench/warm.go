package main

import (
	"context"
	"errors"
	"fmt"
)

// Calls of one burst; the slow contender and bursts with pauses have fewer.
const (
	warmCalls       = 200
	warmCallsSlow   = 50
	wantedWarmGain  = 10   // times faster than ipykernel
	wantedCopyShare = 1.10 // times what the call takes without copies
)

// echoCode answers every line with itself: the least that a round trip to a
// Python process can cost.
const echoCode = "import os\nwhile line := os.read(0, 100): os.write(1, line)"

// warmSide is everything that answers 1+1 in turns.
type warmSide struct {
	echo     *child
	frames   driver
	server   *server
	spawning *server
	library  libraryClient
	tcp, ipc driver
	closers
}

// measureWarmCalls measures a call of 1+1 in sessions that have run it before.
func measureWarmCalls(ctx context.Context, b *bench) (err error) {
	w := &warmSide{}
	defer func() { err = errors.Join(err, w.close()) }()
	if err := w.start(ctx, b); err != nil {
		return err
	}
	if err := w.measurePaced(b); err != nil {
		return err
	}
	return w.measureBursts(ctx, b)
}

// measurePaced measures calls with pauses between, as an agent makes them.
func (w *warmSide) measurePaced(b *bench) error {
	on := func(s *server) func() (float64, error) {
		return func() (float64, error) { return paced(warmCallsSlow, func() (float64, error) { return s.sum("") }) }
	}
	all, err := rounds(b.rounds, []contender{
		{"echo, paced", func() (float64, error) { return paced(warmCallsSlow, w.echoLine) }},
		{"understudy, paced", on(w.server)},
		{"spawned, paced", on(w.spawning)},
		{"ipykernel, paced", func() (float64, error) {
			return burstOf(w.ipc, order{Count: warmCallsSlow, Pause: pause.Seconds()})
		}},
	})
	if err != nil {
		return err
	}
	floor, ours, spawned, kernel := all[0], all[1], all[2], all[3]
	b.report.add(table{
		title: "A warm call of `1+1`, as an agent makes it",
		note: fmt.Sprintf("With a pause of %d ms before each call, in which the copy that follows the call before is made. "+
			"`--start spawn` has no copies. The median of %d calls is one round's value. "+
			"A core that has slept needs a moment, so without copies calls take longer here than back to back.", pause.Milliseconds(), warmCallsSlow),
		unit: seconds,
		rows: []row{
			{name: "floor: a line through two pipes to a bare Python and back", values: floor},
			{"understudy: MCP over stdio", ours, kernel, "ipykernel (IPC)"},
			{"the same against `--start spawn`", ours, spawned, "`--start spawn`"},
			{"understudy `--start spawn`: MCP over stdio", spawned, kernel, "ipykernel (IPC)"},
			{name: "ipykernel: over IPC sockets", values: kernel},
		},
	})
	b.report.aim(atLeast("a warm call through MCP stdio, paced, against ipykernel's own round trip", kernel.median()/ours.median(), wantedWarmGain))
	if canFork() {
		b.report.aim(atMost("the same against `--start spawn`, which makes no copies", ratios(ours, spawned).median(), wantedCopyShare))
	}
	return nil
}

// measureBursts measures calls one after the other.
func (w *warmSide) measureBursts(ctx context.Context, b *bench) error {
	all, err := rounds(b.rounds, w.contenders(ctx))
	if err != nil {
		return err
	}
	spawned := all[3]
	kernel, whose := all[5], "ipykernel (TCP)"
	if all[6].median() < kernel.median() {
		kernel, whose = all[6], "ipykernel (IPC)"
	}
	b.report.add(table{
		title: "A warm call of `1+1`, back to back",
		note: fmt.Sprintf("The median of %d calls in a row (ipykernel: %d) is one round's value. Each call but the first waits until the "+
			"copy that follows the one before is made; `--start spawn` and the worker's frames make none. ipykernel is driven in the fastest form "+
			"that misses no output: `BlockingKernelClient.execute(…, store_history=False)`, `get_shell_msg`, `get_iopub_msg` until idle. "+
			"Compared is with the faster of its two transports.", warmCalls, warmCallsSlow),
		unit: seconds,
		rows: []row{
			{name: "floor: a line through two pipes to a bare Python and back", values: all[0]},
			{"understudy: at the worker's frames", all[1], kernel, whose},
			{"understudy: MCP over stdio, bare JSON-RPC lines", all[2], kernel, whose},
			{"understudy `--start spawn`: MCP over stdio, bare JSON-RPC lines", spawned, kernel, whose},
			{"understudy `--start spawn`: MCP over stdio, mcp-go's client", all[4], kernel, whose},
			{name: "ipykernel: over TCP, the default", values: all[5]},
			{name: "ipykernel: over IPC sockets", values: all[6]},
		},
	})
	b.report.aim(atLeast("a warm call through MCP stdio, back to back, `--start spawn`, against ipykernel's own round trip",
		kernel.median()/spawned.median(), wantedWarmGain))
	return nil
}

func (w *warmSide) contenders(ctx context.Context) []contender {
	on := func(s *server) func() (float64, error) {
		return func() (float64, error) { return burst(warmCalls, func() (float64, error) { return s.sum("") }) }
	}
	kernel := func(d driver) func() (float64, error) {
		return func() (float64, error) { return burstOf(d, order{Count: warmCallsSlow}) }
	}
	return []contender{
		{"echo", func() (float64, error) { return burst(warmCalls, w.echoLine) }},
		{"frames", func() (float64, error) { return burstOf(w.frames, order{Count: warmCalls}) }},
		{"MCP", on(w.server)},
		{"MCP, spawned", on(w.spawning)},
		{"mcp-go", func() (float64, error) {
			return burst(warmCalls, func() (float64, error) { return w.library.sum(ctx) })
		}},
		{"ipykernel over TCP", kernel(w.tcp)},
		{"ipykernel over IPC", kernel(w.ipc)},
	}
}

func (w *warmSide) echoLine() (float64, error) {
	_, took, err := w.echo.exchange([]byte("1+1\n"))
	return took, err
}

// burstOf has a driver make the calls of a burst.
func burstOf(d driver, o order) (float64, error) {
	o.Do, o.Code = "run", "1+1"
	f, err := d.ask(o)
	if err == nil && f.Bytes < o.Count {
		err = fmt.Errorf("%d calls of 1+1 gave %d bytes", o.Count, f.Bytes)
	}
	if err != nil {
		return 0, err
	}
	return values(f.Seconds).median(), nil
}

func (w *warmSide) start(ctx context.Context, b *bench) (err error) {
	if w.echo, err = startChild(ctx, b.dir, b.python, "-c", echoCode); err != nil {
		return err
	}
	w.later(w.echo.close)
	if w.frames, err = startFrames(ctx, b, "spawn"); err != nil {
		return err
	}
	w.later(w.frames.close)
	if w.server, err = startWarmServer(ctx, b); err != nil {
		return err
	}
	w.later(w.server.close)
	if w.spawning, err = startServer(ctx, b, spawning...); err != nil {
		return err
	}
	w.later(w.spawning.close)
	if w.library, err = startLibraryClient(ctx, b, spawning...); err != nil {
		return err
	}
	w.later(w.library.Close)
	if w.tcp, err = w.startKernel(ctx, b, "tcp"); err != nil {
		return err
	}
	w.ipc, err = w.startKernel(ctx, b, "ipc")
	return err
}

func (w *warmSide) startKernel(ctx context.Context, b *bench, transport string) (driver, error) {
	d, err := startIPykernel(ctx, b)
	if err != nil {
		return d, err
	}
	w.later(d.close)
	_, err = d.ask(order{Do: "start", Transport: transport})
	return d, err
}
