package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"understudy/internal/worker"
	"understudy/sessions"
)

// framesCommand makes the bench a driver of one worker, without MCP around it.
// That is a process of its own because one that starts workers adopts and
// reaps orphans.
const framesCommand = "drive-worker"

func startFrames(ctx context.Context, b *bench) (driver, error) {
	self, err := os.Executable()
	if err != nil {
		return driver{}, err
	}
	dir, err := os.MkdirTemp(b.dir, "frames-")
	if err != nil {
		return driver{}, err
	}
	c, err := startChild(ctx, dir, self, framesCommand, b.python, dir)
	return driver{c}, err
}

// serveFrames is the driver: its arguments are a Python and a directory.
func serveFrames(args []string, orders io.Reader, findings io.Writer) (err error) {
	if len(args) != 2 {
		return fmt.Errorf("%s is started by the bench itself", framesCommand)
	}
	spawner := worker.NewSpawner(worker.Options{Python: args[0], LibraryDir: filepath.Join(args[1], "lib")})
	defer func() { err = errors.Join(err, spawner.Close(context.Background())) }()
	w, err := spawner.Start(context.Background(), sessions.Spec{InterpreterID: "bench", Workdir: args[1], FirstExecution: 1})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, w.Close(context.Background())) }()
	return answerOrders(&framesDriver{worker: w}, orders, findings)
}

func answerOrders(d *framesDriver, orders io.Reader, findings io.Writer) error {
	lines := bufio.NewScanner(orders)
	answers := json.NewEncoder(findings)
	for lines.Scan() {
		var o order
		if err := json.Unmarshal(lines.Bytes(), &o); err != nil {
			return err
		}
		f, err := d.run(o)
		if err != nil {
			f.Error = err.Error()
		}
		if err := answers.Encode(f); err != nil {
			return err
		}
	}
	return lines.Err()
}

// framesDriver counts the output of the executions it runs; it is their sink.
type framesDriver struct {
	worker     sessions.Worker
	executions int
	printed    int
}

func (d *framesDriver) Output(_ sessions.Stream, text []byte) { d.printed += len(text) }
func (d *framesDriver) Figure(sessions.Figure)                {}

func (d *framesDriver) run(o order) (finding, error) {
	d.printed = 0
	f := finding{Seconds: make([]float64, 0, o.Count)}
	for range o.Count {
		d.executions++
		began := time.Now()
		outcome, err := d.worker.Run(context.Background(), sessions.Request{Execution: d.executions, Code: o.Code}, d)
		f.Seconds = append(f.Seconds, time.Since(began).Seconds())
		if err != nil {
			return f, err
		}
		if !outcome.OK {
			return f, fmt.Errorf("%q did not succeed: %+v", o.Code, outcome)
		}
	}
	f.Bytes = d.printed
	return f, nil
}
