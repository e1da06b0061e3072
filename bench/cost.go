package main

import (
	"context"
	"errors"
	"fmt"
)

// costCalls are the calls of a burst back to back.
const costCalls = 4

// change is a call that writes to all of what a session holds.
type change struct {
	name        string
	setup, code string // code adds 1 everywhere
	check       string // prints the same number from both ends
}

var changes = []change{
	{
		"`a += 1` on 500 MB of arrays",
		"import numpy as np\na = np.zeros(62_500_000)\na += 0", // zeros alone touches no memory
		"a += 1",
		"print(int(a[0]), int(a[-1]))",
	},
	{
		"2 million dictionaries changed",
		"rows = [{'n': 0} for _ in range(2_000_000)]",
		"for row in rows: row['n'] += 1",
		"print(rows[0]['n'], rows[-1]['n'])",
	},
}

// changing is one session in which a change is made again and again.
type changing struct {
	change
	server *server
	settle func() error // returns when the server has nothing left to do
	done   int
}

// measureCost measures what the copies cost a call that writes to much memory.
func measureCost(ctx context.Context, b *bench) (err error) {
	if !needsFork("cost") {
		return nil
	}
	with, err := startWarmServer(ctx, b)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, with.close()) }()
	without, err := startWarmServer(ctx, b, withoutCopies...)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, without.close()) }()
	for _, change := range changes {
		sides := []*changing{
			{change: change, server: without, settle: func() error { _, err := without.manage("list", ""); return err }},
			{change: change, server: with, settle: func() error { return with.awaitCopies(ctx) }},
		}
		if err := change.measure(b, sides); err != nil {
			return fmt.Errorf("%s: %w", change.name, err)
		}
	}
	return nil
}

func (c change) measure(b *bench, sides []*changing) error {
	var contenders []contender
	for _, side := range sides {
		if _, err := side.server.call("run_python_code", map[string]any{"code": c.setup, "reset": true}); err != nil {
			return err
		}
		contenders = append(contenders,
			contender{"paced", side.afterwards},
			contender{"back to back", func() (float64, error) { return burst(costCalls, side.once) }})
	}
	all, err := rounds(b.rounds, contenders)
	if err != nil {
		return err
	}
	for _, side := range sides {
		if _, err := side.server.expect("", c.check, fmt.Sprintf("%d %d\n", side.done, side.done)); err != nil {
			return err
		}
	}
	b.report.add(table{
		title: "What the understudy costs: " + c.name,
		note: fmt.Sprintf("\"Paced\": the call comes when the copy that follows the call before is made. \"Back to back\": the median of %d calls in a row, "+
			"of which all but the first wait for that. Without copies: `--checkpoint-memory 0`. "+
			"The first write to a page that the copy shares has the kernel copy that page.", costCalls),
		unit: seconds,
		rows: []row{
			{name: "without copies, paced", values: all[0]},
			{"with copies, paced", all[2], all[0], "without"},
			{name: "without copies, back to back", values: all[1]},
			{"with copies, back to back", all[3], all[1], "without"},
		},
	})
	return nil
}

func (c *changing) once() (float64, error) {
	c.done++
	r, err := c.server.run(c.code)
	return r.seconds, err
}

func (c *changing) afterwards() (float64, error) {
	if err := c.settle(); err != nil {
		return 0, err
	}
	return c.once()
}
