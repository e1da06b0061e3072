package main

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"time"
)

const (
	printed = 100_000_000 // bytes of one run
	// ipykernelShare of the bytes is what ipykernel prints: it is slow.
	ipykernelShare   = 10
	wantedPeak       = 100e6 // bytes; the server stays below
	wantedKernels    = 3     // times ipykernel's speed
	longestPrintWait = 600   // seconds that the call may wait
)

// printCode prints so many bytes in lines of a length, newline included.
func printCode(bytes, length int) string {
	return fmt.Sprintf("line = 'x' * %d\nfor i in range(%d): print(line)", length-1, bytes/length)
}

// measurePrints measures how fast output flows, and what the server needs for it.
func measurePrints(ctx context.Context, b *bench) (err error) {
	jupyter, err := startIPykernel(ctx, b)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, jupyter.close()) }()
	if _, err := jupyter.ask(order{Do: "start", Transport: "tcp"}); err != nil {
		return err
	}
	s, err := startWarmServer(ctx, b)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.close()) }()

	for _, length := range []int{100, 1000} {
		if err := measurePrintsOf(ctx, b, s, jupyter, length); err != nil {
			return err
		}
	}
	return b.addPeak(s.cmd.Process.Pid)
}

func measurePrintsOf(ctx context.Context, b *bench, s *server, jupyter driver, length int) error {
	all, err := rounds(max(1, b.rounds/3), []contender{
		{"pipe", func() (float64, error) { return printToPipe(ctx, b, length) }},
		{"understudy", func() (float64, error) { return printToServer(s, length) }},
		{"ipykernel", func() (float64, error) { return printToKernel(jupyter, length) }},
	})
	if err != nil {
		return err
	}
	pipe := all[0]
	b.report.add(table{
		title: fmt.Sprintf("100 MB of prints, in lines of %d bytes", length),
		note: fmt.Sprintf("`for i in range(…): print(line)`, from the call to its answer. ipykernel printed %d MB, because it is slow.",
			printed/ipykernelShare/1_000_000),
		unit: speed,
		rows: []row{
			{name: "floor: `python -c … | cat >/dev/null`", values: pipe},
			{"understudy: MCP over stdio", all[1], pipe, "the pipe"},
			{"ipykernel", all[2], pipe, "the pipe"},
		},
	})
	times := all[1].median() / all[2].median()
	b.report.aim(target{
		fmt.Sprintf("100 MB of prints in lines of %d bytes against ipykernel's", length),
		fmt.Sprintf("at least %d times as fast", wantedKernels), fmt.Sprintf("%.1f times as fast", times), times >= wantedKernels,
	})
	return nil
}

// addPeak reports what the server needed at most for all the prints.
func (b *bench) addPeak(pid int) error {
	if !canMeasureMemory() {
		return nil
	}
	most, err := peak(pid)
	if err != nil {
		return err
	}
	b.report.aim(target{
		"the server's peak memory (VmHWM) over all these prints", "under " + size(wantedPeak, wantedPeak),
		size(most, most), most < wantedPeak,
	})
	return nil
}

// printToPipe returns bytes per second, as the others do.
func printToPipe(ctx context.Context, b *bench, length int) (float64, error) {
	cmd := exec.CommandContext(ctx, "sh", "-c", `"$1" -c "$2" | cat >/dev/null`, "sh", b.python, printCode(printed, length))
	began := time.Now()
	err := cmd.Run()
	return printed / time.Since(began).Seconds(), err
}

func printToServer(s *server, length int) (float64, error) {
	r, err := s.call("run_python_code", map[string]any{"code": printCode(printed, length), "wait": longestPrintWait})
	if err != nil {
		return 0, err
	}
	if r.Record.Status != "ok" || r.Record.StdoutTruncated < printed*9/10 {
		return 0, fmt.Errorf("status %s, %d characters truncated of %d", r.Record.Status, r.Record.StdoutTruncated, printed)
	}
	return printed / r.seconds, nil
}

func printToKernel(jupyter driver, length int) (float64, error) {
	const amount = printed / ipykernelShare
	f, err := jupyter.ask(order{Do: "run", Code: printCode(amount, length), Count: 1})
	if err != nil {
		return 0, err
	}
	if f.Bytes != amount {
		return 0, fmt.Errorf("%d of %d bytes arrived", f.Bytes, amount)
	}
	return amount / f.Seconds[0], nil
}
