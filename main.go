// Command understudy is an MCP server that gives LLM agents persistent Python
// sessions.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"understudy/internal/app"
	"understudy/internal/config"
)

// The exit statuses.
const (
	exitDone        = 0
	exitFailed      = 1
	exitUsage       = 2
	exitInterrupted = 130 // as shells say of a program that Ctrl-C ended
)

func main() {
	c, err := config.Parse(config.Source{Args: os.Args[1:]})
	if err == nil {
		err = run(c)
	}
	os.Exit(report(err))
}

// run does what the command line asks for.
func run(c *config.Config) error {
	log := app.NewLogger(c, os.Stderr)
	if c.Command == "attach" { // where Ctrl-C is for the code that runs
		return app.Attach(context.Background(), c, os.Stdin, os.Stdout, os.Stderr)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	defer stop()
	context.AfterFunc(ctx, stop) // a second signal ends the program at once

	switch c.Command {
	case "setup":
		return app.Setup(ctx, c, os.Stdout, os.Stderr)
	case "doctor":
		return app.Doctor(ctx, c, os.Stdout)
	case "demo":
		return app.Demo(ctx, c, os.Stdout)
	case "install":
		return app.Install(c, os.Stdout, os.Stderr)
	case "plugins list":
		return app.ListPlugins(ctx, c, os.Stdout, os.Stderr)
	case "plugins check":
		return app.CheckPlugins(ctx, c, os.Stdout)
	case "plugins test":
		return app.TestPlugins(ctx, c, os.Stdout)
	case "token":
		return app.Token(c, os.Stdout, os.Stderr)
	case "watch":
		return app.Watch(ctx, c, os.Stdin, os.Stdout)
	case "report":
		return app.Report(ctx, c, os.Stdout)
	case "export":
		return app.Export(ctx, c, os.Stdout)
	case "policy check":
		return app.CheckPolicy(ctx, c, os.Stdout)
	case "schema":
		return app.Schema(os.Stdout)
	case "version":
		return app.PrintVersion(c, os.Stdout)
	case "connect":
		if !c.Connect.IsServer() {
			return app.Connect(ctx, c, os.Args, os.Stdin, os.Stdout, os.Stderr)
		}
		fallthrough
	default:
		// Who has left has closed our outputs. A line of log must not end the server
		// before it has ended its sessions.
		signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE)
		return app.Serve(ctx, c, log)
	}
}

// report tells the user of an error and returns the exit status.
func report(err error) int {
	var usage *config.UsageError
	switch {
	case err == nil:
		return exitDone
	case errors.Is(err, context.Canceled):
		fmt.Fprintln(os.Stderr, "understudy: interrupted")
		return exitInterrupted
	case errors.As(err, &usage):
		fmt.Fprintf(os.Stderr, "understudy: %v\nRun \"understudy --help\" for what can be said.\n", err)
		return exitUsage
	default:
		fmt.Fprintf(os.Stderr, "understudy: %v\n", err)
		return exitFailed
	}
}
