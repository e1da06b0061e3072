package main

import (
	"context"
	"errors"
	"time"
)

const (
	walledSessions    = 10    // new sessions of one round
	wantedWallSession = 0.005 // seconds that the wall may add to a new session
	wantedWallCall    = 1.05  // times as long as a warm call without it; wanted is the same
)

// measureSandbox measures what the wall around sessions costs them: the same server
// with and without it.
func measureSandbox(ctx context.Context, b *bench) (err error) {
	if !needsFork("sandbox") {
		return nil
	}
	var open closers
	defer func() { err = errors.Join(err, open.close()) }()
	var contenders []contender
	for _, mode := range []string{"standard", "off"} {
		s, err := startWarmServer(ctx, b, "--sandbox", mode)
		if err != nil {
			return err
		}
		open.later(s.close)
		of, err := newWalled(s)
		if err != nil {
			return err
		}
		contenders = append(contenders, of.contenders(mode)...)
	}
	all, err := rounds(b.rounds, contenders)
	if err != nil {
		return err
	}
	reportSandbox(b, all[:len(all)/2], all[len(all)/2:])
	return nil
}

// walled is a server with a session that is called and branched.
type walled struct {
	server *server
	id     string
}

func newWalled(s *server) (w *walled, err error) {
	w = &walled{server: s}
	if w.id, err = s.create(); err == nil {
		_, err = s.sum(w.id)
	}
	return w, err
}

func (w *walled) contenders(mode string) []contender {
	return []contender{
		{mode + ": a new session", func() (float64, error) { return paced(walledSessions, w.begin) }},
		{mode + ": a branch", func() (float64, error) { return paced(walledSessions, w.branch) }},
		{mode + ": paced calls", func() (float64, error) { return paced(warmCallsSlow, w.sum) }},
		{mode + ": calls", func() (float64, error) { return burst(warmCalls, w.sum) }},
	}
}

func (w *walled) sum() (float64, error) { return w.server.sum(w.id) }

// begin makes a session and has it answer. Deleting it is not counted.
func (w *walled) begin() (float64, error) {
	began := time.Now()
	id, err := w.server.create()
	if err != nil {
		return 0, err
	}
	_, err = w.server.sum(id)
	took := time.Since(began).Seconds()
	return took, errors.Join(err, w.server.remove(id))
}

// branch makes a branch and has it answer.
func (w *walled) branch() (float64, error) {
	began := time.Now()
	made, err := w.server.manage("branch", w.id)
	if err != nil {
		return 0, err
	}
	_, err = w.server.sum(made.Record.InterpreterID)
	took := time.Since(began).Seconds()
	return took, errors.Join(err, w.server.remove(made.Record.InterpreterID))
}

func reportSandbox(b *bench, with, without []values) {
	const whose = "`--sandbox off`"
	t := table{
		title: "What the wall costs",
		note: "The same server with `--sandbox standard` and with `--sandbox off`, in turns. A new session and a branch are counted " +
			"up to the answer of their first call of `1+1`; the pause before gives the server time to have the next one ready.",
		unit: seconds,
	}
	for i, what := range []string{"a new session", "a branch", "a warm call of `1+1`, paced", "a warm call of `1+1`, back to back"} {
		t.rows = append(t.rows, row{what, with[i], without[i], whose}, row{name: what + ", " + whose, values: without[i]})
	}
	b.report.add(t)
	b.report.aim(atMostMore("the wall: a new session, to its first answer", differences(with[0], without[0]).median(), wantedWallSession))
	b.report.aim(atMost("the wall: a warm call, paced", ratios(with[2], without[2]).median(), wantedWallCall))
}
