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

// framesCommand makes the bench a driver of workers, without MCP around them.
// That is a process of its own because one that starts workers adopts and
// reaps orphans.
const framesCommand = "drive-worker"

// startFrames starts a driver; start is a value of --start.
func startFrames(ctx context.Context, b *bench, start string) (driver, error) {
	self, err := os.Executable()
	if err != nil {
		return driver{}, err
	}
	dir, err := os.MkdirTemp(b.dir, "frames-")
	if err != nil {
		return driver{}, err
	}
	c, err := startChild(ctx, dir, self, framesCommand, b.python, dir, start)
	return driver{c}, err
}

// serveFrames is the driver: its arguments are a Python, a directory and a value
// of --start.
func serveFrames(args []string, orders io.Reader, findings io.Writer) (err error) {
	if len(args) != 3 {
		return fmt.Errorf("%s is started by the bench itself", framesCommand)
	}
	d := &framesDriver{starter: newStarter(args[0], args[1], args[2]), dir: args[1]}
	defer func() { err = errors.Join(err, d.close()) }()
	return d.answer(orders, findings)
}

// starter is what the two ways to start workers have in common.
type starter interface {
	sessions.Starter
	Warm()
	Close(ctx context.Context) error
}

// newStarter returns a starter with the settings that a server has by default.
func newStarter(python, dir, start string) starter {
	options := worker.Options{
		Python: python, LibraryDir: filepath.Join(dir, "lib"),
		Preload: []string{"numpy", "pandas", "matplotlib.pyplot"}, CheckpointShare: 0.5, Spares: worker.UsualSpares,
	}
	if start != "zygote" {
		return worker.NewSpawner(options)
	}
	z := worker.NewZygote(options)
	z.Warm()
	return z
}

// framesDriver runs code in a worker that it keeps, or in new ones. It counts
// the output; it is the executions' sink.
type framesDriver struct {
	starter    starter
	dir        string
	worker     sessions.Worker // nil before the first run
	executions int
	printed    int
	text       []byte // the beginning of it
}

func (d *framesDriver) Output(_ sessions.Stream, text []byte) {
	d.printed += len(text)
	if len(d.text) < tailLimit {
		d.text = append(d.text, text...)
	}
}

func (d *framesDriver) Figure(sessions.Figure) {}

// Artifact does nothing.
func (d *framesDriver) Artifact(sessions.Artifact) {}

// Clear does nothing.
func (d *framesDriver) Clear(sessions.Cleared) {}

func (d *framesDriver) answer(orders io.Reader, findings io.Writer) error {
	lines := bufio.NewScanner(orders)
	answers := json.NewEncoder(findings)
	for lines.Scan() {
		var o order
		if err := json.Unmarshal(lines.Bytes(), &o); err != nil {
			return err
		}
		f, err := d.carryOut(o)
		if err != nil {
			f.Error = err.Error()
		}
		if err := answers.Encode(f); err != nil {
			return err
		}
	}
	return lines.Err()
}

func (d *framesDriver) carryOut(o order) (f finding, err error) {
	d.printed, d.text = 0, nil
	switch o.Do {
	case "run":
		f.Seconds, err = d.runOften(o.Code, o.Count)
	case "new":
		f.Seconds, err = d.runAnew(o.Code)
	default:
		err = fmt.Errorf("unknown order %q", o.Do)
	}
	f.Bytes, f.Text = d.printed, string(d.text)
	return f, err
}

// runOften runs code in the worker that is kept.
func (d *framesDriver) runOften(code string, count int) (values, error) {
	if d.worker == nil {
		w, err := d.start()
		if err != nil {
			return nil, err
		}
		d.worker = w
	}
	all := make(values, 0, count)
	for range count {
		began := time.Now()
		err := d.run(d.worker, code)
		all = append(all, time.Since(began).Seconds())
		if err != nil {
			return all, err
		}
	}
	return all, nil
}

// runAnew starts a worker, runs code in it, and ends it again, which is not
// counted.
func (d *framesDriver) runAnew(code string) (values, error) {
	began := time.Now()
	w, err := d.start()
	if err != nil {
		return nil, err
	}
	err = d.run(w, code)
	took := time.Since(began).Seconds()
	return values{took}, errors.Join(err, w.Close(context.Background()))
}

func (d *framesDriver) start() (sessions.Worker, error) {
	return d.starter.Start(context.Background(), sessions.Spec{InterpreterID: "bench", Workdir: d.dir, FirstExecution: 1})
}

func (d *framesDriver) run(w sessions.Worker, code string) error {
	d.executions++
	outcome, err := w.Run(context.Background(), sessions.Request{Execution: d.executions, Code: code}, d)
	if err == nil && !outcome.OK {
		err = fmt.Errorf("%q did not succeed: %+v", code, outcome)
	}
	return err
}

func (d *framesDriver) close() error {
	var err error
	if d.worker != nil {
		err = d.worker.Close(context.Background())
	}
	return errors.Join(err, d.starter.Close(context.Background()))
}

// Ask refuses: nobody is there.
func (*framesDriver) Ask(q sessions.Question) { q.Reply(sessions.Reply{Refusal: "nobody is there"}) }
