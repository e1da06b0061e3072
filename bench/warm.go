package main

import (
	"context"
	"errors"
	"fmt"
	"io"
)

// Calls of one burst; the slow contender makes fewer.
const (
	warmCalls      = 200
	warmCallsSlow  = 50
	wantedWarmGain = 10 // times faster than ipykernel
)

// echoCode answers every line with itself: the least that a round trip to a
// Python process can cost.
const echoCode = "import os\nwhile line := os.read(0, 100): os.write(1, line)"

// warmSide is everything that answers 1+1 in turns.
type warmSide struct {
	echo     *child
	frames   driver
	server   *server
	library  libraryClient
	tcp, ipc driver
	closers  []io.Closer
}

// measureWarmCalls measures a call of 1+1 in sessions that have run it before.
func measureWarmCalls(ctx context.Context, b *bench) (err error) {
	w := &warmSide{}
	defer func() { err = errors.Join(err, w.close()) }()
	if err := w.start(ctx, b); err != nil {
		return err
	}
	all, err := rounds(b.rounds, w.contenders(ctx))
	if err != nil {
		return err
	}
	kernel, whose := all[4], "ipykernel (TCP)"
	if all[5].median() < kernel.median() {
		kernel, whose = all[5], "ipykernel (IPC)"
	}
	b.report.add(table{
		title: "A warm call of `1+1`",
		note: fmt.Sprintf("The median of %d calls in a row (ipykernel: %d) is one round's value. ipykernel is driven in the fastest form "+
			"that misses no output: `BlockingKernelClient.execute(…, store_history=False)`, `get_shell_msg`, `get_iopub_msg` until idle. "+
			"Compared is with the faster of its two transports.", warmCalls, warmCallsSlow),
		unit: seconds,
		rows: []row{
			{name: "floor: a line through two pipes to a bare Python and back", values: all[0]},
			{"understudy: at the worker's frames", all[1], kernel, whose},
			{"understudy: MCP over stdio, bare JSON-RPC lines", all[2], kernel, whose},
			{"understudy: MCP over stdio, mcp-go's client", all[3], kernel, whose},
			{name: "ipykernel: over TCP, the default", values: all[4]},
			{name: "ipykernel: over IPC sockets", values: all[5]},
		},
	})
	gain := kernel.median() / all[2].median()
	b.report.aim(target{
		"a warm call through MCP stdio against ipykernel's own round trip",
		fmt.Sprintf("at least %d× faster", wantedWarmGain), factor(gain) + " faster", gain >= wantedWarmGain,
	})
	return nil
}

func (w *warmSide) contenders(ctx context.Context) []contender {
	kernel := func(d driver) func() (float64, error) {
		return func() (float64, error) { return burstOf(d, warmCallsSlow) }
	}
	return []contender{
		{"echo", func() (float64, error) { return burst(warmCalls, w.echoLine) }},
		{"frames", func() (float64, error) { return burstOf(w.frames, warmCalls) }},
		{"MCP", func() (float64, error) {
			return burst(warmCalls, func() (float64, error) { return w.server.sum("") })
		}},
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
func burstOf(d driver, calls int) (float64, error) {
	f, err := d.ask(order{Do: "run", Code: "1+1", Count: calls})
	if err == nil && f.Bytes < calls {
		err = fmt.Errorf("%d calls of 1+1 gave %d bytes", calls, f.Bytes)
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
	w.closeLater(w.echo.close)
	if w.frames, err = startFrames(ctx, b); err != nil {
		return err
	}
	w.closeLater(w.frames.close)
	if w.server, err = startServer(ctx, b); err != nil {
		return err
	}
	w.closeLater(w.server.close)
	if w.library, err = startLibraryClient(ctx, b); err != nil {
		return err
	}
	w.closeLater(w.library.Close)
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
	w.closeLater(d.close)
	_, err = d.ask(order{Do: "start", Transport: transport})
	return d, err
}

// closer is a function that closes something.
type closer func() error

func (c closer) Close() error { return c() }

func (w *warmSide) closeLater(c closer) { w.closers = append(w.closers, c) }

func (w *warmSide) close() error {
	var err error
	for _, c := range w.closers {
		err = errors.Join(err, c.Close())
	}
	return err
}
