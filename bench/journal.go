package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"time"

	"understudy/internal/journal"
	"understudy/sessions"
)

const (
	recordedExecutions = 100_000
	recordedTogether   = 1000  // whose median is one point of the curve
	wantedJournalCost  = 0.001 // seconds that recording may add to a warm call
)

// measureJournal measures what the record of an execution costs its call, and
// whether that grows.
func measureJournal(ctx context.Context, b *bench) error {
	if err := measureRecordedCalls(ctx, b); err != nil {
		return err
	}
	return measureRecords(ctx, b)
}

// measureRecordedCalls compares servers with and without a journal.
func measureRecordedCalls(ctx context.Context, b *bench) (err error) {
	var open closers
	defer func() { err = errors.Join(err, open.close()) }()
	start := func(settings ...string) (*server, error) {
		s, err := startServer(ctx, b, settings...)
		if err == nil {
			open.later(s.close)
		}
		return s, err
	}
	recording, err := start()
	if err != nil {
		return err
	}
	silent, err := start("--no-journal")
	if err != nil {
		return err
	}
	inPaces := func(s *server) func() (float64, error) {
		return func() (float64, error) { return paced(warmCallsSlow, func() (float64, error) { return s.sum("") }) }
	}
	inBursts := func(s *server) func() (float64, error) {
		return func() (float64, error) { return burst(warmCalls, func() (float64, error) { return s.sum("") }) }
	}
	all, err := rounds(b.rounds, []contender{
		{"with a journal, paced", inPaces(recording)}, {"without, paced", inPaces(silent)},
		{"with a journal", inBursts(recording)}, {"without", inBursts(silent)},
	})
	if err != nil {
		return err
	}
	b.report.add(table{
		title: "What the journal costs a warm call of `1+1`",
		note:  "The record is written before the answer leaves. Paced as an agent calls, and back to back.",
		unit:  seconds,
		rows: []row{
			{"with a journal, paced", all[0], all[1], "`--no-journal`"},
			{name: "`--no-journal`, paced", values: all[1]},
			{"with a journal, back to back", all[2], all[3], "`--no-journal`"},
			{name: "`--no-journal`, back to back", values: all[3]},
		},
	})
	b.report.aim(atMostMore("the record of a warm call, paced", differences(all[0], all[1]).median(), wantedJournalCost))
	return nil
}

// measureRecords records very many executions, and looks whether the last cost
// more than the first.
func measureRecords(ctx context.Context, b *bench) (err error) {
	j, err := journal.Open(filepath.Join(b.dir, "long.db"), journal.Options{Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, j.Close(ctx)) }()
	medians, slow := line{Name: "the median"}, line{Name: "19 of 20 are faster"}
	for n := recordedTogether; n <= recordedExecutions; n += recordedTogether {
		times := make(values, recordedTogether)
		for i := range times {
			if times[i], err = recordOne(ctx, j, n-recordedTogether+i+1); err != nil {
				return err
			}
		}
		medians.add(float64(n), times.median()*1e3)
		slow.add(float64(n), times.share(0.95)*1e3)
	}
	tenth := len(medians.Y) / 10
	first, last := values(medians.Y[:tenth]), values(medians.Y[len(medians.Y)-tenth:])
	b.report.add(table{
		title: fmt.Sprintf("The record of an execution, from the first to the %dth", recordedExecutions),
		note:  fmt.Sprintf("A short cell that prints a line, in one run of one interpreter, without pauses. Each value is the median of %d.", recordedTogether),
		unit:  func(v, scale float64) string { return seconds(v/1e3, scale/1e3) },
		rows: []row{
			{name: "the first tenth", values: first},
			{"the last tenth", last, first, "the first tenth"},
		},
		curve: &curve{
			File: "bench-journal.svg", Title: "Recording one execution",
			X: axis{Label: "executions in the journal"}, Y: axis{Label: "ms"},
			Lines: []line{medians, slow},
		},
	})
	b.report.aim(atMost("the record of one of the last 10,000 of 100,000 executions against the first 10,000", last.median()/first.median(), 1.5))
	return nil
}

// recordOne records the n-th execution of an interpreter and returns how many
// seconds that took.
func recordOne(ctx context.Context, j *journal.Journal, n int) (float64, error) {
	result := sessions.Result{
		InterpreterID: "b", Execution: n, Status: sessions.StatusOK, Success: true, ExecTime: 0.003, TimeLimit: 3600,
		Result: json.RawMessage("0.912"), Stdout: "0.912\n", TermOut: []string{"0.912\n"},
		Variables: &sessions.VariableDiff{Changed: []string{"score"}},
	}
	entry := sessions.Entry{
		InterpreterID: "b", Execution: n, Client: "bench", Kind: sessions.RunsCode, Started: time.Now(), Limit: time.Hour,
		Code:    "model.fit(X_train, y_train)\nscore = accuracy_score(y_test, model.predict(X_test))\nscore\n",
		Present: sessions.Place{InterpreterID: "b", Execution: n}, Result: &result,
		Printed: [2]sessions.Printed{{Text: []byte(result.Stdout), Size: int64(len(result.Stdout))}},
	}
	if n > 1 {
		entry.Parent = sessions.Place{InterpreterID: "b", Execution: n - 1}
		entry.Follows = entry.Parent
	}
	began := time.Now()
	_, err := j.Record(ctx, entry)
	return time.Since(began).Seconds(), err
}
