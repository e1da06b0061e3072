package main

import (
	"bytes"
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"
)

//go:embed fastmcp_server.py
var fastmcpServer string

// The servers of others that understudy is compared with over HTTP, each in an
// environment of its own.
var (
	fastmcpPackages = []string{"fastmcp==4.1.2"}
	jupyterPackages = []string{"jupyter-mcp-server==2.2.4", "jupyter_server==2.21.1", "jupyterlab==4.6.6", "ipykernel==7.4.0", "jupyter_client==8.10.0"}
)

const (
	fastmcpDir = "build/fastmcp-env"
	jupyterDir = "build/jupyter-mcp-env"
	// readyTime is how long a server may take until it answers.
	readyTime = 90 * time.Second
	// jupyterToken opens the Jupyter server to the bench alone.
	jupyterToken = "bench"
	// jupyterKernels is how many kernels the clients of the Jupyter server share.
	jupyterKernels = 8
)

// daemon is a server that is spoken to over the network.
type daemon struct {
	cmd  *exec.Cmd
	said *tail
	done chan struct{}
	addr string
}

// startDaemon starts a server that listens on addr, and waits until it does.
func startDaemon(ctx context.Context, dir, addr, name string, args ...string) (*daemon, error) {
	d := &daemon{cmd: exec.CommandContext(ctx, name, args...), said: &tail{}, done: make(chan struct{}), addr: addr}
	d.cmd.Dir, d.cmd.WaitDelay = dir, stopGrace
	d.cmd.Stdout, d.cmd.Stderr = d.said, d.said
	d.cmd.Env = append(os.Environ(), "HOME="+dir, "JUPYTER_CONFIG_DIR="+dir, "JUPYTER_DATA_DIR="+dir, "JUPYTER_RUNTIME_DIR="+dir, "IPYTHONDIR="+dir)
	d.cmd.Cancel = func() error { return d.cmd.Process.Signal(syscall.SIGTERM) }
	if err := d.cmd.Start(); err != nil {
		return nil, err
	}
	go func() {
		defer close(d.done)
		_ = d.cmd.Wait() // how it ended matters to nobody but ready
	}()
	if err := d.ready(ctx); err != nil {
		return nil, errors.Join(err, d.close())
	}
	return d, nil
}

// ready waits until somebody listens.
func (d *daemon) ready(ctx context.Context) error {
	ctx, cancel := context.WithTimeoutCause(ctx, readyTime, fmt.Errorf("it doesn't listen after %s", readyTime))
	defer cancel()
	for {
		var dialer net.Dialer
		if conn, err := dialer.DialContext(ctx, "tcp", d.addr); err == nil {
			return conn.Close()
		}
		select {
		case <-d.done:
			return fmt.Errorf("%s has ended%s", d.cmd.Args[0], d.said)
		case <-ctx.Done():
			return fmt.Errorf("%s: %w%s", d.cmd.Args[0], context.Cause(ctx), d.said)
		case <-time.After(50 * time.Millisecond):
		}
	}
}

func (d *daemon) close() error {
	_ = d.cmd.Process.Signal(syscall.SIGTERM) // it may have ended
	select {
	case <-d.done:
	case <-time.After(stopGrace):
		_ = d.cmd.Process.Kill()
		<-d.done
	}
	return nil
}

// freeAddress returns an address that nobody listens on. Somebody might take it
// before it is used; then the run fails and says so.
func freeAddress() (string, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	return listener.Addr().String(), listener.Close()
}

// startNetworkServer starts understudy for HTTP and SSE, with settings beside
// the default ones.
func startNetworkServer(ctx context.Context, b *bench, settings ...string) (*daemon, error) {
	addr, err := freeAddress()
	if err != nil {
		return nil, err
	}
	args, err := serverArgs(b)
	if err != nil {
		return nil, err
	}
	// All clients come from one address; the limits are for the network at large.
	args = append(args, "--transport", "http,sse", "--addr", addr, "--max-sessions", "200",
		"--max-requests-per-second", "0", "--max-calls-per-client", "0")
	return startDaemon(ctx, b.dir, addr, b.binary, append(args, settings...)...)
}

// startFastMCP starts the server that runs exec in its own process.
func startFastMCP(ctx context.Context, b *bench, transport string) (*daemon, error) {
	python, err := makeEnvironment(ctx, b.source, fastmcpDir, fastmcpPackages)
	if err != nil {
		return nil, err
	}
	addr, err := freeAddress()
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp(b.dir, "fastmcp-")
	if err != nil {
		return nil, err
	}
	script := filepath.Join(dir, "server.py")
	if err := os.WriteFile(script, []byte(fastmcpServer), 0o644); err != nil {
		return nil, err
	}
	_, port, _ := net.SplitHostPort(addr)
	return startDaemon(ctx, dir, addr, python, script, transport, port)
}

// startJupyter starts a Jupyter server with jupyter-mcp-server as its extension,
// in which calls reach the kernels without a second server between, and as many
// kernels as the clients share.
func startJupyter(ctx context.Context, b *bench) (*daemon, []string, error) {
	python, err := makeEnvironment(ctx, b.source, jupyterDir, jupyterPackages)
	if err != nil {
		return nil, nil, err
	}
	addr, err := freeAddress()
	if err != nil {
		return nil, nil, err
	}
	dir, err := os.MkdirTemp(b.dir, "jupyter-")
	if err != nil {
		return nil, nil, err
	}
	_, port, _ := net.SplitHostPort(addr)
	d, err := startDaemon(ctx, dir, addr, python, "-m", "jupyter_server", "--no-browser", "--allow-root",
		"--ServerApp.ip=127.0.0.1", "--ServerApp.port="+port, "--ServerApp.port_retries=0",
		"--IdentityProvider.token="+jupyterToken, "--ServerApp.root_dir="+dir, "--ServerApp.log_level=ERROR")
	if err != nil {
		return nil, nil, err
	}
	var kernels []string
	for range jupyterKernels {
		id, err := newJupyterKernel(ctx, addr)
		if err != nil {
			return nil, nil, errors.Join(err, d.close())
		}
		kernels = append(kernels, id)
	}
	return d, kernels, nil
}

// newJupyterKernel has the server start a kernel and returns its id.
func newJupyterKernel(ctx context.Context, addr string) (string, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://"+addr+"/api/kernels", bytes.NewReader([]byte(`{"name":"python3"}`)))
	if err != nil {
		return "", err
	}
	request.Header.Set("Authorization", "token "+jupyterToken)
	answered, err := http.DefaultClient.Do(request)
	if err != nil {
		return "", err
	}
	defer func() { _ = answered.Body.Close() }()
	text, err := io.ReadAll(answered.Body)
	if err != nil {
		return "", err
	}
	var kernel struct{ ID string }
	if err := json.Unmarshal(text, &kernel); err != nil || kernel.ID == "" {
		return "", fmt.Errorf("starting a kernel: %s: %.500s", answered.Status, text)
	}
	return kernel.ID, nil
}
