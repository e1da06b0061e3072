package main

import (
	"context"
	_ "embed"
	"fmt"
)

//go:embed ipykernel_driver.py
var ipykernelDriver string

// startIPykernel starts the Python process that drives ipykernel through
// jupyter_client; no kernel is started yet. Whatever Jupyter writes, history
// and connection files, goes to the driver's own directory.
func startIPykernel(ctx context.Context, b *bench) (driver, error) {
	return startScript(ctx, b, "ipykernel_driver.py", ipykernelDriver)
}

// newKernel starts a kernel until it has answered code, and stops it again.
func newKernel(jupyter driver, code, printed string) (float64, error) {
	f, err := jupyter.ask(order{Do: "start", Transport: "tcp", Code: code})
	if err != nil {
		return 0, err
	}
	if f.Text != printed {
		return 0, fmt.Errorf("%.100q printed %.200q, not %.200q", code, f.Text, printed)
	}
	_, err = jupyter.ask(order{Do: "stop"})
	return f.Seconds[0], err
}
